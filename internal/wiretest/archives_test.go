package wiretest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// archive is a fixture of a codec: what a provider answered, whole or as a
// stream.
type archive struct {
	name   string
	stream bool
	body   []byte
}

// archives are the fixtures of a format.
func archives(t *testing.T, format string) []archive {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "toolspec", "wire", format, "testdata", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures of %s: %v", format, err)
	}
	var all []archive
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		a := archive{name: strings.TrimSuffix(filepath.Base(path), ".txtar")}
		text, _, _ = bytes.Cut(text, []byte("-- want.json --\n"))
		_, a.body, a.stream = bytes.Cut(text, []byte("-- stream.txt --\n"))
		if !a.stream {
			_, a.body, _ = bytes.Cut(text, []byte("-- response.json --\n"))
		}
		all = append(all, a)
	}
	return all
}

// decode reads an archive with a codec of Pawl.
func (a archive) decode(codec wire.Codec) (wire.Response, error) {
	if !a.stream {
		return codec.Decode(a.body)
	}
	s := codec.Stream()
	if _, err := s.Write(a.body); err != nil {
		return wire.Response{}, err
	}
	return s.End()
}

// serve answers every request with an archive, and keeps the body of the last one.
func (a archive) serve(t *testing.T, contentType string) (url string, request *[]byte) {
	t.Helper()
	request = new([]byte)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		*request = body.Bytes()
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(a.body)
	}))
	t.Cleanup(server.Close)
	return server.URL, request
}

// call is a call as a provider's client reads it.
type call struct {
	id, name string
	args     any
}

// agree compares what may run with what a provider's client read: the same calls
// at the same places, with the same arguments. It reports whether there was one.
func agree(t *testing.T, ours wire.Response, theirs []call) bool {
	t.Helper()
	if len(ours.Calls) != len(theirs) {
		t.Errorf("Pawl reads %d calls, the client %d: %+v", len(ours.Calls), len(theirs), theirs)
		return false
	}
	compared := false
	for i, c := range ours.Calls {
		if c.ID != theirs[i].id || c.Name != theirs[i].name && c.Fault == "" {
			t.Errorf("call %d is %s %s, the client reads %s %s", i, c.ID, c.Name, theirs[i].id, theirs[i].name)
		}
		if c.Fault != "" || !json.Valid(c.Args) {
			continue
		}
		compared = true
		if args := tree(t, c.Args); !reflect.DeepEqual(args, theirs[i].args) {
			t.Errorf("the arguments of call %d are %v, the client reads %v", i, args, theirs[i].args)
		}
	}
	return compared
}

// readAs lets a provider's type read what Pawl wrote, and compares what the type
// writes then: a member that the type does not know is lost on the way.
func readAs[T any](t *testing.T, what string, ours []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(ours, &v); err != nil {
		t.Errorf("%s: %v in %s", what, err, ours)
		return v
	}
	theirs, err := json.Marshal(v)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return v
	}
	if !reflect.DeepEqual(tree(t, ours), tree(t, theirs)) {
		t.Errorf("%s: Pawl wrote\n%s\nthe client's type makes of it\n%s", what, ours, theirs)
	}
	return v
}

func tree(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Errorf("%v in %s", err, text)
	}
	return v
}

// offered are tools with the keywords that every client's types know.
func offered() []wire.Tool {
	return []wire.Tool{
		{
			Name: "core__read_file", Description: `Reads a "file".`,
			Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"a path"},"mode":{"type":"string","enum":["r","w"]}},"required":["path"]}`),
		},
		{Name: "core__ls", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
	}
}

// answered are results of every shape.
func answered() []wire.Answer {
	return []wire.Answer{
		{CallID: "call_a", Name: "core__ls", Content: json.RawMessage(`{"n":1}`)},
		{CallID: "call_b", Name: "core__ls", Content: json.RawMessage(`"text"`), IsError: true},
		{CallID: "call_c", Name: "core__read_file", Content: json.RawMessage(`"head"`), OutputRef: "out_1", Parts: []wire.Part{
			{MediaType: "text/plain", Data: "more"}, {MediaType: "image/png", Data: "iVBORw0KGgo="}, {MediaType: "application/pdf", Data: "JVBERi0="},
		}},
	}
}

func sameTree(t *testing.T, a, b []byte) bool {
	t.Helper()
	return reflect.DeepEqual(tree(t, a), tree(t, b))
}
