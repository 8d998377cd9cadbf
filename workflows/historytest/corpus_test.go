package historytest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/taskqueue/v1"
	"google.golang.org/protobuf/proto"
)

// sample returns the first events of a history that a worker on host.example has written.
func sample() *historypb.History {
	return &historypb.History{Events: []*historypb.HistoryEvent{
		{
			EventId: 1, EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
			Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
				WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{WorkflowId: "tool:a:b:c", Identity: "1@host.example"},
			},
		},
		{
			EventId: 2, EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
			Attributes: &historypb.HistoryEvent_WorkflowTaskScheduledEventAttributes{
				WorkflowTaskScheduledEventAttributes: &historypb.WorkflowTaskScheduledEventAttributes{
					TaskQueue: &taskqueue.TaskQueue{Name: "host.example:1", Kind: enumspb.TASK_QUEUE_KIND_STICKY, NormalName: "pawl"},
				},
			},
		},
	}}
}

// TestWriteChangesNoFile: Write changes no byte of a file that exists, of this version or of another version.
func TestWriteChangesNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, "read_local", sample()); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, Version+"_read_local"+suffix)
	content, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	older := filepath.Join(dir, "v0.0_read_local"+suffix)
	if err := os.WriteFile(older, content, 0o600); err != nil {
		t.Fatal(err)
	}
	changed := sample()
	changed.Events = changed.Events[:1]
	if err := Write(dir, "read_local", changed); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{own, older} {
		if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, content) {
			t.Errorf("%s was changed: %v", file, err)
		}
	}
	if err := errors.Join(os.Remove(own), Write(dir, "read_local", changed)); err != nil {
		t.Fatal(err)
	}
	all, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	lengths := []int{}
	for _, r := range all {
		lengths = append(lengths, len(r.History.GetEvents()))
	}
	if !slices.Equal(lengths, []int{2, 1}) {
		t.Errorf("histories of %v events, want the older of 2 and the new one of 1", lengths)
	}
	if err := Write(dir, "no_such_case", sample()); err == nil {
		t.Error("a history of no case was written")
	}
}

// TestHostsAreHidden: a written history has no name of a host, and keeps its other data.
func TestHostsAreHidden(t *testing.T) {
	dir, before := t.TempDir(), sample()
	if err := Write(dir, "read_local", before); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(before, sample()) {
		t.Error("the history that was handed in has changed")
	}
	all, err := Load(dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d histories, %v", len(all), err)
	}
	text := all[0].History.String()
	if strings.Contains(text, "host.example") {
		t.Errorf("the host stands in %s", text)
	}
	if WorkflowID(all[0].History) != "tool:a:b:c" || !strings.Contains(text, "pawl") {
		t.Errorf("more than the host is gone: %s", text)
	}
}
