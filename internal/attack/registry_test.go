package attack

import (
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/pawl-run/pawl/toolspec"
)

// registry is what the worker registers, as it says itself to whoever asks for something else.
func (a *attacker) registry(t *testing.T, w *world) (found []target) {
	t.Helper()
	add := func(kind string, names ...string) {
		t.Helper()
		if len(names) == 0 {
			t.Fatalf("the worker does not say which %s it registers", kind)
		}
		for _, name := range names {
			found = append(found, target{kind, name})
		}
	}
	const unknown = "noSuchThing"
	add(activities, names(message(a.schedule(t, anyID(), task{unknown, plain(nil)})[0].err))...)

	run, err := a.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: anyID(), TaskQueue: victimQueue}, unknown)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	until(t, "the worker says which workflow types it registers", func() bool {
		for _, e := range a.history(t, run.GetID(), "") {
			if f := e.GetWorkflowTaskFailedEventAttributes(); strings.Contains(f.GetFailure().GetMessage(), unknown) {
				types = names(f.GetFailure().GetMessage())
			}
		}
		return types != nil
	})
	add(workflowTypes, types...)
	if err := a.client.TerminateWorkflow(t.Context(), run.GetID(), "", "it was only to ask"); err != nil {
		t.Fatal(err)
	}

	// A call tells of its own messages.
	inv := call("registry", toolPay, args("pay", ""))
	started := w.start(t, inv)
	view := w.waiting(t, started.WorkflowID)
	_, err = a.client.QueryWorkflow(t.Context(), started.WorkflowID, "", unknown)
	if err == nil {
		t.Fatal("an unknown query has an answer")
	}
	add(queries, names(err.Error())...)
	var metadata sdkpb.WorkflowMetadata
	value, err := a.client.QueryWorkflow(t.Context(), started.WorkflowID, "", "__temporal_workflow_metadata")
	if err == nil {
		err = value.Get(&metadata)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range metadata.GetDefinition().GetSignalDefinitions() {
		add(signals, s.GetName())
	}
	for _, u := range metadata.GetDefinition().GetUpdateDefinitions() {
		add(updates, u.GetName())
	}
	w.approve(t, started.WorkflowID, view)
	w.endsRightly(t, inv)
	return found
}

// endsRightly waits for the call to end, and fails unless it ran once and has the value of its own tool.
func (w *world) endsRightly(t *testing.T, inv toolspec.Invocation) {
	t.Helper()
	result := w.result(t, w.start(t, inv))
	if text := textOf(inv.Args); !result.OK || textOf(result.Value) != text {
		t.Errorf("%s ended with ok=%t %q (%s) and %s, want %q", inv.ToolCallID, result.OK, result.ErrorCode, result.SafeMessage, result.Value, text)
	}
	if n := w.effects.of(inv.ToolCallID); n != 1 {
		t.Errorf("%s had its effect %d times, want once", inv.ToolCallID, n)
	}
}

// answerOf sends a query and returns its answer as it came.
func (a *attacker) answerOf(t *testing.T, workflowID, query string, input ...any) (*common.Payloads, error) {
	t.Helper()
	ctx, cancel := soon(t)
	defer cancel()
	value, err := a.client.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: workflowID, QueryType: query, Args: input, QueryRejectCondition: enumspb.QUERY_REJECT_CONDITION_NONE,
	})
	if err != nil {
		return nil, err
	}
	var raw converter.RawValue
	if err := value.QueryResult.Get(&raw); err != nil {
		return nil, err
	}
	return &common.Payloads{Payloads: []*common.Payload{raw.Payload()}}, nil
}
