package e2etest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestLargeResults: a result that is too large for a payload is stored, for its tenant alone; one that is too large is refused.
func TestLargeResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	text := func(n int) string { return strings.Repeat("a", n) }
	giving := func(n int) run {
		return func(context.Context, in, toolspec.Call) (out, error) { return out{Text: text(n), Hidden: text(n)}, nil }
	}
	most := func(d *toolspec.Definition) { d.MaxResultBytes = 200 << 10 }
	w.work(worker.Tools(
		tool("test__small", giving(60<<10), fast), tool("test__large_fast", giving(100<<10), fast, most), tool("test__large", giving(100<<10), idempotent, most),
		tool("test__huge_fast", giving(300<<10), fast, most), tool("test__huge", giving(300<<10), idempotent, most), tool("test__monster", giving(3<<20), idempotent),
	))
	if r := w.invoke(invocation("small", "test__small", `{}`)); !r.OK || r.OutputRef != "" || len(r.Value) < 60<<10 {
		t.Errorf("60 KB ended with ok=%t, outputRef %q and %d bytes", r.OK, r.OutputRef, len(r.Value))
	}
	for _, toolID := range []string{"test__large_fast", "test__large"} {
		inv := invocation(toolID, toolID, `{}`)
		r := w.invoke(inv)
		if !r.OK || r.OutputRef == "" || r.Value != nil {
			t.Fatalf("%s ended with %+v, want an outputRef", toolID, r)
		}
		value, err := w.pawl.Output(t.Context(), "acme", r.OutputRef)
		want := asJSON(out{Text: text(100 << 10)})
		if err != nil || string(value) != want {
			t.Errorf("%s: %v and %d bytes, want %d", toolID, err, len(value), len(want))
		}
		for _, tenant := range []string{"globex", ""} {
			if _, err := w.pawl.Output(t.Context(), tenant, r.OutputRef); !errors.Is(err, postgres.ErrNotFound) {
				t.Errorf("%s: tenant %q asks for it and gets %v", toolID, tenant, err)
			}
		}
		for _, e := range w.history(inv.Identity().WorkflowID(), "").GetEvents() {
			if len(e.String()) > 64<<10 {
				t.Errorf("%s: %s holds the value", toolID, e.GetEventType())
			}
		}
		printed := w.pawlCLI("show --output "+toolID, "show --tenant globex --output "+toolID)
		if !strings.Contains(printed[0], text(100<<10)) || strings.Contains(printed[1], "aaa") {
			t.Errorf("pawl show --output printed %d bytes for its tenant and %d for another", len(printed[0]), len(printed[1]))
		}
	}
	for _, toolID := range []string{"test__huge_fast", "test__huge", "test__monster"} {
		inv := invocation(toolID, toolID, `{}`)
		wantCode(t, w.invoke(inv), toolspec.CodeResultTooLarge)
		// A result does not become smaller by another attempt.
		answers := 0
		for _, a := range w.record(inv).AttemptList {
			if a.Code == toolspec.CodeResultTooLarge {
				answers++
			}
		}
		if answers != 1 {
			t.Errorf("%s was asked again: %+v", toolID, w.record(inv).AttemptList)
		}
	}
}

// TestLargeArguments: arguments beyond 64 KB are refused wherever they come from.
func TestLargeArguments(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	w.work(worker.Tools(
		tool("test__read", echo, fast), tool("test__write", echo, idempotent, risky),
		tool("test__narrow", echo, fast, func(d *toolspec.Definition) { d.MaxArgsBytes = 100 }),
	))
	args := func(n int) string { return fmt.Sprintf(`{"text":%q}`, strings.Repeat("a", n)) }
	const overhead = len(`{"text":""}`)
	largest := invocation("largest", "test__read", args(toolspec.MaxInline-overhead))
	if r := w.invoke(largest); !r.OK {
		t.Errorf("64 KB of arguments ended with %s: %s", r.ErrorCode, r.SafeMessage)
	}
	// Go's client does not send what is refused, so this goes past it.
	larger := invocation("larger", "test__read", args(toolspec.MaxInline-overhead+1))
	wantCode(t, w.runAgain(larger), toolspec.CodeValidation)
	wantCode(t, w.invoke(invocation("narrow", "test__narrow", args(100))), toolspec.CodeValidation)

	call := w.start(invocation("edited", "test__write", `{"text":"hello"}`))
	view := w.waiting(call.WorkflowID)
	d := toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Edit, Approver: ann, EditedArgs: json.RawMessage(args(toolspec.MaxDecision))}
	if err := w.temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, d); err != nil {
		t.Fatal(err)
	}
	w.approve(call.WorkflowID)
	wantText(t, w.result(call), "hello")
}
