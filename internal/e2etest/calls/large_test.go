package calls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestLargeResults: a result that is too large for a payload is stored as an output, which only its tenant can read. A result above the limit of its tool is
// refused.
func TestLargeResults(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	text := func(n int) string { return strings.Repeat("a", n) }
	giving := func(n int) e2etest.Run {
		return func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
			return e2etest.Out{Text: text(n), Hidden: text(n)}, nil
		}
	}
	most := func(d *toolspec.Definition) { d.MaxResultBytes = 200 << 10 }
	w.Work(worker.Tools(
		e2etest.Tool("test__small", giving(60<<10), e2etest.Fast), e2etest.Tool("test__large_fast", giving(100<<10), e2etest.Fast, most),
		e2etest.Tool("test__large", giving(100<<10), e2etest.Idempotent, most),
		e2etest.Tool("test__huge_fast", giving(300<<10), e2etest.Fast, most),
		e2etest.Tool("test__huge", giving(300<<10), e2etest.Idempotent, most), e2etest.Tool("test__monster", giving(3<<20), e2etest.Idempotent),
	))
	if r := w.Invoke(e2etest.Invocation("small", "test__small", `{}`)); !r.OK || r.OutputRef != "" || len(r.Value) < 60<<10 {
		t.Errorf("60 KiB ended with ok=%t, outputRef %q and %d bytes", r.OK, r.OutputRef, len(r.Value))
	}
	for _, toolID := range []string{"test__large_fast", "test__large"} {
		inv := e2etest.Invocation(toolID, toolID, `{}`)
		r := w.Invoke(inv)
		if !r.OK || r.OutputRef == "" || !r.Truncated || r.Bytes < 100<<10 || len(r.Value) > 32<<10 {
			t.Fatalf("%s ended with %+v, want an outputRef", toolID, r)
		}
		value, err := w.Pawl.Output(t.Context(), "acme", r.OutputRef)
		want := e2etest.AsJSON(e2etest.Out{Text: text(100 << 10)})
		if err != nil || string(value) != want {
			t.Errorf("%s: %v and %d bytes, want %d", toolID, err, len(value), len(want))
		}
		for _, tenant := range []string{"globex", ""} {
			if _, err := w.Pawl.Output(t.Context(), tenant, r.OutputRef); !errors.Is(err, postgres.ErrNotFound) {
				t.Errorf("%s: tenant %q asks for it and gets %v", toolID, tenant, err)
			}
		}
		for _, e := range w.History(inv.Identity().WorkflowID(), "").GetEvents() {
			if len(e.String()) > 64<<10 {
				t.Errorf("%s: %s holds the value", toolID, e.GetEventType())
			}
		}
		printed := w.PawlCLI("show --output "+toolID, "show --tenant globex --output "+toolID)
		if !strings.Contains(printed[0], text(100<<10)) || strings.Contains(printed[1], "aaa") {
			t.Errorf("pawl show --output printed %d bytes for its tenant and %d for another", len(printed[0]), len(printed[1]))
		}
	}
	for _, toolID := range []string{"test__huge_fast", "test__huge", "test__monster"} {
		inv := e2etest.Invocation(toolID, toolID, `{}`)
		e2etest.WantCode(t, w.Invoke(inv), toolspec.CodeResultTooLarge)
		// A result above the limit is not tried again.
		answers := 0
		for _, a := range w.Record(inv).AttemptList {
			if a.Code == toolspec.CodeResultTooLarge {
				answers++
			}
		}
		if answers != 1 {
			t.Errorf("%s was asked again: %+v", toolID, w.Record(inv).AttemptList)
		}
	}
}

// TestLargeArguments: arguments of more than 64 KiB are refused, from the caller and from an approver.
func TestLargeArguments(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work(worker.Tools(
		e2etest.Tool("test__read", e2etest.Echo, e2etest.Fast), e2etest.Tool("test__write", e2etest.Echo, e2etest.Idempotent, e2etest.Risky),
		e2etest.Tool("test__narrow", e2etest.Echo, e2etest.Fast, func(d *toolspec.Definition) { d.MaxArgsBytes = 100 }),
	))
	args := func(n int) string { return fmt.Sprintf(`{"text":%q}`, strings.Repeat("a", n)) }
	const overhead = len(`{"text":""}`)
	largest := e2etest.Invocation("largest", "test__read", args(toolspec.MaxInline-overhead))
	if r := w.Invoke(largest); !r.OK {
		t.Errorf("64 KiB of arguments ended with %s: %s", r.ErrorCode, r.SafeMessage)
	}
	// The client for Go does not send such arguments, so this call starts the workflow without it.
	larger := e2etest.Invocation("larger", "test__read", args(toolspec.MaxInline-overhead+1))
	e2etest.WantCode(t, w.RunAgain(larger), toolspec.CodeValidation)
	e2etest.WantCode(t, w.Invoke(e2etest.Invocation("narrow", "test__narrow", args(100))), toolspec.CodeValidation)

	call := w.Start(e2etest.Invocation("edited", "test__write", `{"text":"hello"}`))
	view := w.Waiting(call.WorkflowID)
	d := toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Edit, Approver: e2etest.Ann,
		EditedArgs: json.RawMessage(args(toolspec.MaxDecision))}
	if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, d); err != nil {
		t.Fatal(err)
	}
	w.Approve(call.WorkflowID)
	e2etest.WantText(t, w.Result(call), "hello")
}
