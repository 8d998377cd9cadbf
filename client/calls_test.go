package client_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
)

func TestInvokeReturnsTheValueOrACodedError(t *testing.T) {
	w := newWorld(t)
	w.work()
	result, err := w.client.Invoke(t.Context(), call("test__echo", "good", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	if !result.OK || string(result.Value) != `{"text":"hello"}` || result.Source != toolspec.SourceExecuted {
		t.Errorf("result %+v", result)
	}

	denied := call("test__echo", "denied", "hello")
	denied.Context.TenantID = "globex"
	_, err = w.client.Invoke(t.Context(), denied)
	if !errors.Is(err, client.Coded(toolspec.CodePolicyDenied)) || errors.Is(err, client.Coded(toolspec.CodeValidation)) || client.Code(err) != toolspec.CodePolicyDenied {
		t.Errorf("of another tenant: %v", err)
	}

	wrong := call("test__echo", "wrong", "")
	wrong.Args = json.RawMessage(`{"text":7}`)
	_, err = w.client.Invoke(t.Context(), wrong)
	var failed *client.CallError
	if !errors.As(err, &failed) || failed.Code() != toolspec.CodeValidation || failed.Result.Details.Path != "/text" {
		t.Errorf("with a wrong type: %v", err)
	}
}

func TestTheSameIDWithOtherArgumentsIsAConflict(t *testing.T) {
	w := newWorld(t)
	w.work()
	if _, err := w.client.Invoke(t.Context(), call("test__echo", "taken", "first words")); err != nil {
		t.Fatal(err)
	}
	other := call("test__echo", "taken", "other words")
	result, err := w.client.Invoke(t.Context(), other)
	if !errors.Is(err, client.Coded(toolspec.CodeConflict)) {
		t.Fatalf("ended with %v", err)
	}
	var failed *client.CallError
	if !errors.As(err, &failed) || !reflect.DeepEqual(result, failed.Result) || result.ToolCallID != "taken" || result.InvocationID == "" {
		t.Fatalf("beside %v stands %+v", err, result)
	}
	shown, err := json.Marshal([]any{result, failed.Result})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(shown), "first words") {
		t.Errorf("the other call's value is shown: %s", shown)
	}
	attached, err := w.client.Attach(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.Result(t.Context(), attached); !errors.Is(err, client.Coded(toolspec.CodeConflict)) {
		t.Errorf("attached with other arguments: %v", err)
	}
}

func TestStartedTwiceIsOneCall(t *testing.T) {
	w := newWorld(t)
	inv := call("test__echo", "once", "hello")
	first, err := w.client.Start(t.Context(), inv)
	if err != nil {
		t.Fatal(err)
	}
	w.work()
	again, err := w.client.Start(t.Context(), inv) // it runs, or is over
	if err != nil {
		t.Fatal(err)
	}
	attached, err := w.client.Attach(t.Context(), inv)
	if err != nil {
		t.Fatal(err)
	}
	var values []toolspec.Result
	for _, c := range []*client.Call{first, again, attached} {
		if c.WorkflowID != "tool:acme:run:once" || c.InvocationID != inv.Identity().InvocationID() {
			t.Errorf("call %+v", c)
		}
		result, err := w.client.Result(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, result)
	}
	for _, v := range values[1:] {
		if v.StartedAtMs != values[0].StartedAtMs || v.EndedAtMs != values[0].EndedAtMs {
			t.Errorf("two runs: %+v and %+v", values[0], v)
		}
	}
	before, err := w.temporal.DescribeWorkflowExecution(t.Context(), first.WorkflowID, "")
	if err != nil {
		t.Fatal(err)
	}
	after, err := w.client.Invoke(t.Context(), inv)
	if err != nil || after.EndedAtMs != values[0].EndedAtMs {
		t.Errorf("after its end: %+v, %v", after, err)
	}
	now, err := w.temporal.DescribeWorkflowExecution(t.Context(), first.WorkflowID, "")
	if err != nil || now.GetWorkflowExecutionInfo().GetExecution().GetRunId() != before.GetWorkflowExecutionInfo().GetExecution().GetRunId() {
		t.Errorf("after its end it ran again: %v", err)
	}
}

func TestALargeOutputIsFetchedByItsTenantOnly(t *testing.T) {
	w := newWorld(t)
	w.work()
	result, err := w.client.Invoke(t.Context(), call("test__big", "big", ""))
	if err != nil {
		t.Fatal(err)
	}
	if result.OutputRef == "" || len(result.Value) > toolspec.MaxInline {
		t.Fatalf("reference %q beside %d bytes", result.OutputRef, len(result.Value))
	}
	value, err := w.client.Output(t.Context(), "acme", result.OutputRef)
	if err != nil || !strings.Contains(string(value), strings.Repeat("x", 2*toolspec.MaxInline)) {
		t.Errorf("%d bytes, %v", len(value), err)
	}
	if value, err := w.client.Output(t.Context(), "globex", result.OutputRef); !errors.Is(err, client.ErrNotFound) || value != nil {
		t.Errorf("to another tenant: %d bytes, %v", len(value), err)
	}
	bare := client.New(w.temporal, client.Options{})
	if _, err := bare.Output(t.Context(), "acme", result.OutputRef); !errors.Is(err, client.ErrNoOutputs) || !strings.Contains(err.Error(), "Options.Outputs") {
		t.Errorf("without a reader: %v", err)
	}
}
