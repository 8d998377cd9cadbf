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

// TestCancelInExecute: a tool that honours its context stops within seconds. What may be repeated is cancelled; else nobody knows.
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
	// The heartbeat brings the news, every two seconds; as the SDK is set, it would be every six and a half. A busy machine may be late with
	// some of them.
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

// answered is when the last activity of a call gave its answer, by the server's clock.
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

// TestCancelWhileWaiting: nobody can approve any more, and nothing is written.
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

// TestCancelWhileRetrying: the call ends at once, and no longer says that it retries.
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

// TestTimeout: an attempt that takes too long is made again, as often as policy and tool allow, and then the call ends. A tool that does not
// listen is left behind, alone.
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
		// A task of the local lane that the server gives up on is made anew, with the attempts of which it has not heard.
		runs, local := effects.Of(toolID), strings.HasSuffix(toolID, "_fast")
		if r.Attempts != want.attempts || runs < want.attempts || runs > want.attempts && !local {
			t.Errorf("%s: %d attempts and %d runs, want %d", toolID, r.Attempts, runs, want.attempts)
		}
		if want.code == toolspec.CodeOutcomeUnknown && r.Details.Cause != "timeout" {
			t.Errorf("%s: the cause is %q, want timeout", toolID, r.Details.Cause)
		}
	}
	// It is the worker that gave up on a tool, not the server on the worker; on a busy machine the server may be first once.
	if n := e2etest.CountEvents(w.History(calls["test__deaf"].WorkflowID, ""), enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT); n > 1 {
		t.Errorf("the server gave up on %d attempts", n)
	}
	behind := func() int { return strings.Count(w.Log.String(), "tool left behind") }
	// Two attempts of one and one of the other are left behind, each with the goroutine that started it, and nothing else.
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
	// What came too late changed nothing.
	if record := w.Record(e2etest.Invocation("test__deaf", "", "")); record.Outcome != "timeout" {
		t.Errorf("the record ended %q", record.Outcome)
	}
}

// stuckUntil is a name to look for among goroutines.
//
//go:noinline
func stuckUntil(release chan struct{}) (e2etest.Out, error) {
	<-release
	return e2etest.Out{Text: "too late"}, nil
}

// goroutinesOf returns the stacks that a function stands in.
func goroutinesOf(function string) []string {
	var text bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&text, 2); err != nil {
		return []string{err.Error()}
	}
	return slices.DeleteFunc(strings.Split(text.String(), "\n\n"), func(stack string) bool { return !strings.Contains(stack, function) })
}
