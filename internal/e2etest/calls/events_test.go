package calls

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/worker"
)

// TestRunEvents: a watcher sees the start of a call with masked arguments and its progress while the tool runs, also of a read in the local lane, and the
// lines of a shell. A watcher that connects again sees the same. Each call has one start event and after it one result event, however it ends. The request
// of a call that waits for a person comes before its start.
func TestRunEvents(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	const masked = "4711-masked"
	leave := make(chan struct{}, 2)
	waits := func(ctx context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		capability.ProgressKey.From(call).Report(ctx, toolspec.Progress{Done: 1, Total: 2, Text: "half"})
		select {
		case <-leave:
			return e2etest.Out{Text: "done"}, nil
		case <-ctx.Done():
			return e2etest.Out{}, ctx.Err()
		}
	}
	// A read in the local lane has no claim. Its start is in the record before it runs.
	begun := func(_ context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		n := e2etest.Scalar[int](w, `SELECT count(*) FROM run_events WHERE tool_call_id = $1 AND kind = 'tool_call_start'`, call.ToolCallID)
		return e2etest.Out{Text: fmt.Sprint(n)}, nil
	}
	reports := func(d *toolspec.Definition) {
		d.Capabilities = []toolspec.CapabilityName{capability.ProgressKey.Name()}
	}
	config := w.Config()
	config.Shell = shellOf(t, w.Workspace)
	w.WorkWith(config, worker.Tools(
		e2etest.Tool("test__long", waits, e2etest.Within(time.Minute), e2etest.Masks("/note"), reports),
		e2etest.Tool("test__local", begun, e2etest.Fast, e2etest.Longest), e2etest.Tool("test__risky", e2etest.Shown, e2etest.Risky, e2etest.Idempotent),
		e2etest.Tool("test__echo", e2etest.Echo), e2etest.Tool("other__tool", e2etest.Shown)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events := make(chan toolspec.RunEvent, 1000)
	go func() {
		defer close(events)
		for e, err := range w.Store.Watch(ctx, "acme", "run", 0) {
			if err != nil {
				t.Error(err)
				return
			}
			events <- e
		}
	}()
	var seen []toolspec.RunEvent
	sees := func(call string, kind toolspec.RunEventKind) toolspec.RunEvent {
		t.Helper()
		for {
			e := e2etest.Receive(t, events)
			if seen = append(seen, e); e.ToolCallID == call && e.Kind == kind {
				return e
			}
		}
	}
	w.Until(func() bool {
		return e2etest.Scalar[int](w, `SELECT count(*) FROM runs WHERE watched_until > now()`) == 1
	}, "the run is watched")

	long := w.Start(e2etest.Invocation("long", "test__long", fmt.Sprintf(`{"text":"a","note":%q}`, masked)))
	if e := sees("long", toolspec.RunCallStart); !strings.Contains(string(e.Args), `"text":"a"`) || strings.Contains(string(e.Args), masked) {
		t.Errorf("it started with %s", e.Args)
	}
	if e := sees("long", toolspec.RunCallProgress); e.Progress == nil || e.Progress.Text != "half" {
		t.Errorf("%+v", e.Progress)
	}
	leave <- struct{}{}
	e2etest.WantText(t, w.Result(long), "done")

	local := w.Start(e2etest.Invocation("local", "test__local", `{}`))
	sees("local", toolspec.RunCallStart)
	e2etest.WantText(t, w.Result(local), "1")

	cancelled := w.Start(e2etest.Invocation("cancelled", "test__long", `{}`))
	sees("cancelled", toolspec.RunCallStart)
	if err := w.Temporal.CancelWorkflow(t.Context(), cancelled.WorkflowID, ""); err != nil {
		t.Fatal(err)
	}
	w.Result(cancelled)

	asked := w.Start(e2etest.Invocation("asked", "test__risky", `{}`))
	if e := sees("asked", toolspec.RunApprovalRequested); e.Approval == nil || e.Approval.ApprovalID == "" || e.Approval.Message == "" || len(e.Args) == 0 {
		t.Errorf("%+v with the arguments %s", e.Approval, e.Args)
	}
	view := w.Waiting(asked.WorkflowID)
	w.Decide(asked.WorkflowID, toolspec.Decision{ApprovalID: view.ApprovalID, Digest: view.Digest, Decision: toolspec.Approve, Approver: e2etest.Ann})
	if e := sees("asked", toolspec.RunApprovalDecided); e.Approval == nil || e.Approval.Decision != "approved" || e.Approval.Approver != e2etest.Ann {
		t.Errorf("%+v", e.Approval)
	}
	w.Result(asked)

	for _, inv := range []toolspec.Invocation{
		e2etest.Invocation("denied", "other__tool", `{}`), e2etest.Invocation("unknown", "test__none", `{}`),
		e2etest.Invocation("invalid", "test__echo", `{"text":1}`), e2etest.Invocation("broken", "test__echo", `"{"`),
		e2etest.Invocation("ok", "test__echo", `{"text":"b"}`),
	} {
		w.Invoke(inv)
		if e := sees(inv.ToolCallID, toolspec.RunCallResult); e.Result == nil || e.Result.OK != (inv.ToolCallID == "ok") {
			t.Errorf("%s ended with %+v", inv.ToolCallID, e.Result)
		}
	}
	calls := 9
	if config.Shell.On {
		calls++
		script := w.Start(e2etest.Invocation("shell", "core__shell", `{"command":"echo first; until [ -e go ]; do sleep 0.05; done; echo last"}`))
		w.Approve(script.WorkflowID)
		if e := sees("shell", toolspec.RunCallProgress); e.Progress == nil || e.Progress.Text != "first" {
			t.Errorf("a line of the script that runs: %+v", e.Progress)
		}
		if err := os.WriteFile(filepath.Join(w.Workspace, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if e := sees("shell", toolspec.RunCallResult); e.Result == nil || !strings.Contains(string(e.Result.Value), `"tail":"first\nlast\n"`) {
			t.Errorf("the script ended with %+v", e.Result)
		}
	}
	w.EventsOnce(calls)
	// A watcher that connects again sees what the first one saw, with the progress.
	var again []toolspec.RunEvent
	soon, stop := context.WithTimeout(ctx, e2etest.WaitTimeout)
	defer stop()
	for e, err := range w.Store.Watch(soon, "acme", "run", seen[0].Seq) {
		if err != nil {
			t.Fatal(err)
		}
		if again = append(again, e); len(again) == len(seen)-1 {
			break
		}
	}
	if !reflect.DeepEqual(again, seen[1:]) {
		t.Errorf("it sees %+v\nand the first one saw %+v", again, seen[1:])
	}
	state := map[string]string{}
	for i, e := range seen {
		if e.Seq != int64(i+1) {
			t.Errorf("event %d has the number %d", i+1, e.Seq)
		}
		state[e.ToolCallID] += " " + strings.TrimPrefix(string(e.Kind), "tool_call_")
	}
	plain := " start result"
	for call, want := range map[string]string{
		"long": " start progress result", "local": plain, "cancelled": " start progress result",
		"asked": " approval_requested approval_decided start result", "denied": plain, "unknown": plain, "invalid": plain, "broken": plain, "ok": plain,
	} {
		if got := state[call]; got != want && strings.ReplaceAll(got, " progress", "") != strings.ReplaceAll(want, " progress", "") {
			t.Errorf("%s had%s, want%s", call, got, want)
		}
	}
	summary, err := w.Store.Run(t.Context(), "acme", "run")
	if err != nil || summary.Calls != int64(calls) || summary.Outcomes["ok"] != int64(calls-5) || summary.LastSeq != int64(len(seen)) {
		t.Errorf("%+v, %v", summary, err)
	}
}
