package historytest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// suffix is the last part of the name of every file.
const suffix = ".json.gz"

// Recorded is a recorded history with the version and the case in its file name.
type Recorded struct {
	Version, Case string
	History       *historypb.History
}

// Name returns the name of the file without its suffix.
func (r Recorded) Name() string { return r.Version + "_" + r.Case }

// Load reads every file of a directory, in the order of their names. It returns an error
// if a file has another name than <version>_<case>.json.gz or holds no history.
func Load(dir string) ([]Recorded, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []Recorded
	for _, entry := range entries {
		name, isHistory := strings.CutSuffix(entry.Name(), suffix)
		version, shape, hasVersion := strings.Cut(name, "_")
		if !isHistory || !hasVersion {
			return nil, fmt.Errorf("%s: name it <version>_<case>%s", entry.Name(), suffix)
		}
		h, err := read(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Name(), err)
		}
		all = append(all, Recorded{Version: version, Case: shape, History: h})
	}
	return all, nil
}

func read(file string) (*historypb.History, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return client.HistoryFromJSON(text, client.HistoryJSONOptions{})
}

// Write writes the history of a call of the case shape to the file <Version>_<shape>.json.gz in dir. It never changes
// a file that exists, so that tests replay the history that older code has recorded. Write replaces the identities of
// workers and the names of sticky task queues, because they contain host names and process ids.
func Write(dir, shape string, h *historypb.History) error {
	if !slices.ContainsFunc(Cases(), func(c Case) bool { return c.Name == shape }) {
		return fmt.Errorf("%s is no case: add it to Cases", shape)
	}
	path := filepath.Join(dir, Recorded{Version: Version, Case: shape}.Name()+suffix)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	kept, ok := proto.Clone(h).(*historypb.History)
	if !ok {
		return errors.New("a clone is of the same type")
	}
	if err := hideHosts(kept); err != nil {
		return err
	}
	loose, err := protojson.Marshal(kept)
	if err != nil {
		return err
	}
	var text, packed bytes.Buffer
	// Protojson varies its spaces on purpose. Compact makes the output the same each time.
	if err := json.Compact(&text, loose); err != nil {
		return err
	}
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := zip.Write(text.Bytes()); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, packed.Bytes(), 0o644)
}

// hideHosts replaces each name that contains a host name: the names of sticky task queues
// and every field "identity".
func hideHosts(h *historypb.History) error {
	const hidden = "recorded"
	for _, e := range h.GetEvents() {
		if q := e.GetWorkflowTaskScheduledEventAttributes().GetTaskQueue(); q.GetKind() == enumspb.TASK_QUEUE_KIND_STICKY {
			q.Name = hidden
		}
	}
	return protorange.Range(h.ProtoReflect(), func(values protopath.Values) error {
		last := values.Index(-1)
		if last.Step.Kind() != protopath.FieldAccessStep {
			return nil
		}
		field := last.Step.FieldDescriptor()
		if field.Name() == "identity" && field.Kind() == protoreflect.StringKind {
			values.Index(-2).Value.Message().Set(field, protoreflect.ValueOfString(hidden))
		}
		return nil
	})
}
