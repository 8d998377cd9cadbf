package calls

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestCancelInExecute: after a cancellation, a tool that stops when its context ends does so within seconds. A call whose tool may be repeated ends as
// cancelled, and every other call with an unknown outcome.
func TestCancelInExecute(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	entered := make(chan struct{}, 3)
	f := func(ctx context.Context, _ e2etest.In, _ toolspec.Call) (e2etest.Out, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return e2etest.Out{}, ctx.Err()
	}
	stays := e2etest.Within(2 * time.Minute)
	w.Work(worker.Tools(e2etest.Tool("test__read", f, stays), e2etest.Tool("test__write", f, e2etest.Idempotent, stays),
		e2etest.Tool("test__send", f, e2etest.Once, stays)))
	want := map[string]toolspec.Code{
		"test__read": toolspec.CodeCancelled, "test__write": toolspec.CodeCancelled, "test__send": toolspec.CodeOutcomeUnknown,
	}
	calls := map[string]*pawl.Call{}
	for toolID := range want {
		calls[toolID] = w.Start(e2etest.Invocation(toolID, toolID, `{}`))
		e2etest.Receive(t, entered)
	}
	// A worker learns of the cancellation by a heartbeat, which it sends every two seconds. With the defaults of the SDK that would be every six and a half
	// seconds. On a busy machine some heartbeats may be late.
	for _, call := range calls {
		w.BeatsWithin(call.WorkflowID, 5*time.Second)
	}
	began := time.Now()
	for _, call := range calls {
		if err := w.Pawl.Cancel(t.Context(), call.WorkflowID); err != nil {
			t.Fatal(err)
		}
	}
	for toolID, code := range want {
		inv, call := e2etest.Invocation(toolID, toolID, `{}`), calls[toolID]
		r := w.Result(call)
		e2etest.WantCode(t, r, code)
		if took := answered(w.History(call.WorkflowID, "")).Sub(began); took > 40*time.Second {
			t.Errorf("%s: from the cancel to the end of the attempt it took %s", toolID, took)
		}
		if code == toolspec.CodeOutcomeUnknown && r.Details.Cause != "cancelled" {
			t.Errorf("%s: the cause is %q, want cancelled", toolID, r.Details.Cause)
		}
		if r.Attempts != 1 || w.Record(inv).Outcome != string(code) {
			t.Errorf("%s: %d attempts, and the record ended %q", toolID, r.Attempts, w.Record(inv).Outcome)
		}
		w.Replay(call.WorkflowID)
	}
}

// answered returns when the last activity of a call ended, by the clock of the server.
func answered(h *historypb.History) (at time.Time) {
	for _, e := range h.GetEvents() {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED, enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
			at = e.GetEventTime().AsTime()
		default:
		}
	}
	return at
}

// TestCancelWhileWaiting: after a waiting call is cancelled, nobody can approve it, and its tool does not run.
func TestCancelWhileWaiting(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work()
	inv := e2etest.Invocation("write", "core__write_file", `{"path":"out.md","content":"hello"}`)
	call := w.Start(inv)
	view := w.Waiting(call.WorkflowID)
	if err := w.Pawl.Cancel(t.Context(), call.WorkflowID); err != nil {
		t.Fatal(err)
	}
	r := w.Result(call)
	e2etest.WantCode(t, r, toolspec.CodeCancelled)
	if a := w.Record(inv).Approvals; len(a) != 1 || a[0].State != "closed" || r.Attempts != 0 || r.Details.ApprovalID != view.ApprovalID {
		t.Errorf("the result is %+v and the requests are %+v; want one that is closed, and no attempt", r, a)
	}
	if _, err := w.Pawl.Decide(t.Context(), call.WorkflowID, e2etest.Approving(view.ApprovalID, e2etest.Ann)); !errors.Is(err, pawl.ErrSettled) {
		t.Errorf("an approval that comes too late: %v, want ErrSettled", err)
	}
	if _, err := os.Stat(filepath.Join(w.Workspace, "out.md")); !os.IsNotExist(err) {
		t.Errorf("the file: %v, want none", err)
	}
}

// TestCancelWhileRetrying: a call that is cancelled between two attempts ends immediately, and its state no longer says that it retries.
func TestCancelWhileRetrying(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work(worker.Tools(e2etest.Tool("test__busy", func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
		return e2etest.Out{}, toolspec.RetryAfter(2*time.Minute, "not now")
	}, e2etest.Once, e2etest.Attempts(3))))
	call := w.Start(e2etest.Invocation("busy", "test__busy", `{}`))
	w.Until(func() bool {
		state, err := w.Pawl.State(t.Context(), call.WorkflowID)
		return err == nil && state.Status == toolspec.StatusRetrying
	}, "the call retries")
	if text := w.Details(call.WorkflowID); !strings.Contains(text, "Retrying") {
		t.Errorf("the current details are %q", text)
	}
	wantStatus := func(want string) {
		t.Helper()
		if got := w.Attributes(call.WorkflowID)["PawlStatus"]; got != want {
			t.Errorf("PawlStatus is %q, want %q", got, want)
		}
	}
	wantStatus("retrying")
	if err := w.Pawl.Cancel(t.Context(), call.WorkflowID); err != nil {
		t.Fatal(err)
	}
	e2etest.WantCode(t, w.Result(call), toolspec.CodeCancelled)
	wantStatus("settled")
	if text := w.Details(call.WorkflowID); text != "" {
		t.Errorf("a settled call still says %q", text)
	}
}

// TestTimeout: an attempt that takes too long is repeated as often as policy and tool allow, and then the call ends. A tool that does not stop with its
// context is left running, with one goroutine and nothing else.
func TestTimeout(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	release := make(chan struct{})
	slow := effects.Counted(func(ctx context.Context, _ e2etest.In, _ toolspec.Call) (e2etest.Out, error) {
		<-ctx.Done()
		return e2etest.Out{}, ctx.Err()
	})
	stuck := effects.Counted(func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) { return stuckUntil(release) })
	w.Work(worker.Tools(
		e2etest.Tool("test__slow", slow, e2etest.Within(time.Second), e2etest.Attempts(2)),
		e2etest.Tool("test__slow_fast", slow, e2etest.Fast, e2etest.Within(time.Second), e2etest.Attempts(2)),
		e2etest.Tool("test__slow_send", slow, e2etest.Once, e2etest.Within(time.Second)),
		e2etest.Tool("test__deaf", stuck, e2etest.Within(time.Second), e2etest.Attempts(2)),
		e2etest.Tool("test__deaf_fast", stuck, e2etest.Fast, e2etest.Within(time.Second), e2etest.Attempts(1)),
		e2etest.Tool("test__read", e2etest.Echo, e2etest.Fast),
	))
	calls := map[string]*pawl.Call{}
	ends := map[string]struct {
		code     toolspec.Code
		attempts int
	}{
		"test__slow": {toolspec.CodeTimeout, 2}, "test__slow_fast": {toolspec.CodeTimeout, 2},
		"test__slow_send": {toolspec.CodeOutcomeUnknown, 1},
		"test__deaf":      {toolspec.CodeTimeout, 2}, "test__deaf_fast": {toolspec.CodeTimeout, 1},
	}
	for toolID := range ends {
		calls[toolID] = w.Start(e2etest.Invocation(toolID, toolID, `{}`))
	}
	for toolID, want := range ends {
		r := w.Result(calls[toolID])
		e2etest.WantCode(t, r, want.code)
		// If the server gives up on a workflow task, the task is repeated, with those attempts of the local lane that the server has not recorded.
		runs, local := effects.Of(toolID), strings.HasSuffix(toolID, "_fast")
		if r.Attempts != want.attempts || runs < want.attempts || runs > want.attempts && !local {
			t.Errorf("%s: %d attempts and %d runs, want %d", toolID, r.Attempts, runs, want.attempts)
		}
		if want.code == toolspec.CodeOutcomeUnknown && r.Details.Cause != "timeout" {
			t.Errorf("%s: the cause is %q, want timeout", toolID, r.Details.Cause)
		}
	}
	// The worker gives up on the tool before the server gives up on the worker. On a busy machine the server may be first once.
	if n := e2etest.CountEvents(w.History(calls["test__deaf"].WorkflowID, ""), enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT); n > 1 {
		t.Errorf("the server gave up on %d attempts", n)
	}
	behind := func() int { return strings.Count(w.Log.String(), "tool left behind") }
	// Two attempts of one tool and one attempt of the other are left running, each with the goroutine that started it, and no other goroutine.
	left := effects.Of("test__deaf") + effects.Of("test__deaf_fast")
	w.Until(func() bool { return behind() >= left }, "the log says who was left behind")
	if n := behind(); n != left {
		t.Errorf("the log says of %d tools that they were left behind, want %d", n, left)
	}
	wantGoroutines := func(want int) {
		t.Helper()
		var got []string
		w.Until(func() bool { got = goroutinesOf("calls.stuckUntil"); return len(got) == want },
			"the tools that do not listen are left behind alone")
		for _, stack := range got {
			if !strings.Contains(stack, "attempt.(*Attempts).attempt.func") {
				t.Errorf("this one is not alone:\n%s", stack)
			}
		}
	}
	wantGoroutines(left)
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("read", "test__read", `{"text":"served"}`)), "served")
	close(release)
	wantGoroutines(0)
	// The results that came too late changed nothing.
	if record := w.Record(e2etest.Invocation("test__deaf", "", "")); record.Outcome != "timeout" {
		t.Errorf("the record ended %q", record.Outcome)
	}
}

// stuckUntil waits for release. The test finds it by its name in the stacks of goroutines, and so it must not be inlined.
//
//go:noinline
func stuckUntil(release chan struct{}) (e2etest.Out, error) {
	<-release
	return e2etest.Out{Text: "too late"}, nil
}

// goroutinesOf returns the stacks of the goroutines that have called a function.
func goroutinesOf(function string) []string {
	var text bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&text, 2); err != nil {
		return []string{err.Error()}
	}
	return slices.DeleteFunc(strings.Split(text.String(), "\n\n"), func(stack string) bool { return !strings.Contains(stack, function) })
}
