package e2etest

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
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestCancelInExecute: a tool that honours its context stops within seconds. What may be repeated is cancelled; else nobody knows.
func TestCancelInExecute(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	entered := make(chan struct{}, 3)
	f := func(ctx context.Context, _ in, _ toolspec.Call) (out, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return out{}, ctx.Err()
	}
	stays := within(2 * time.Minute)
	w.work(worker.Tools(tool("test__read", f, stays), tool("test__write", f, idempotent, stays), tool("test__send", f, once, stays)))
	want := map[string]toolspec.Code{
		"test__read": toolspec.CodeCancelled, "test__write": toolspec.CodeCancelled, "test__send": toolspec.CodeOutcomeUnknown,
	}
	calls := map[string]*pawl.Call{}
	for toolID := range want {
		calls[toolID] = w.start(invocation(toolID, toolID, `{}`))
		receive(t, entered)
	}
	// The heartbeat brings the news, every two seconds; as the SDK is set, it would be every six and a half. A busy machine may be late with
	// some of them.
	for _, call := range calls {
		w.beatsWithin(call.WorkflowID, 5*time.Second)
	}
	began := time.Now()
	for _, call := range calls {
		if err := w.pawl.Cancel(t.Context(), call.WorkflowID); err != nil {
			t.Fatal(err)
		}
	}
	for toolID, code := range want {
		inv, call := invocation(toolID, toolID, `{}`), calls[toolID]
		r := w.result(call)
		wantCode(t, r, code)
		if took := answered(w.history(call.WorkflowID, "")).Sub(began); took > 40*time.Second {
			t.Errorf("%s: from the cancel to the end of the attempt it took %s", toolID, took)
		}
		if code == toolspec.CodeOutcomeUnknown && r.Details.Cause != "cancelled" {
			t.Errorf("%s: the cause is %q, want cancelled", toolID, r.Details.Cause)
		}
		if r.Attempts != 1 || w.record(inv).Outcome != string(code) {
			t.Errorf("%s: %d attempts, and the record ended %q", toolID, r.Attempts, w.record(inv).Outcome)
		}
		w.replay(call.WorkflowID)
	}
}

// beatsWithin waits until two heartbeats of a call's only activity have come to the server one so soon after the other.
func (w *world) beatsWithin(workflowID string, most time.Duration) {
	w.t.Helper()
	var last time.Time
	w.until(func() bool {
		pending := w.describe(workflowID).GetPendingActivities()
		if len(pending) != 1 || pending[0].GetLastHeartbeatTime() == nil {
			return false
		}
		before := last
		last = pending[0].GetLastHeartbeatTime().AsTime()
		return !before.IsZero() && last.After(before) && last.Sub(before) < most
	}, workflowID+" beats that often")
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
	w := newWorld(t, plainPolicy)
	w.work()
	inv := invocation("write", "core__write_file", `{"path":"out.md","content":"hello"}`)
	call := w.start(inv)
	view := w.waiting(call.WorkflowID)
	if err := w.pawl.Cancel(t.Context(), call.WorkflowID); err != nil {
		t.Fatal(err)
	}
	r := w.result(call)
	wantCode(t, r, toolspec.CodeCancelled)
	if a := w.record(inv).Approvals; len(a) != 1 || a[0].State != "closed" || r.Attempts != 0 || r.Details.ApprovalID != view.ApprovalID {
		t.Errorf("the result is %+v and the requests are %+v; want one that is closed, and no attempt", r, a)
	}
	if _, err := w.pawl.Decide(t.Context(), call.WorkflowID, approval(view.ApprovalID, ann)); !errors.Is(err, pawl.ErrSettled) {
		t.Errorf("an approval that comes too late: %v, want ErrSettled", err)
	}
	if _, err := os.Stat(filepath.Join(w.workspace, "out.md")); !os.IsNotExist(err) {
		t.Errorf("the file: %v, want none", err)
	}
}

// TestCancelWhileRetrying: the call ends at once, and no longer says that it retries.
func TestCancelWhileRetrying(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	w.work(worker.Tools(tool("test__busy", func(context.Context, in, toolspec.Call) (out, error) {
		return out{}, toolspec.RetryAfter(2*time.Minute, "not now")
	}, once, attempts(3))))
	call := w.start(invocation("busy", "test__busy", `{}`))
	w.until(func() bool {
		state, err := w.pawl.State(t.Context(), call.WorkflowID)
		return err == nil && state.Status == toolspec.StatusRetrying
	}, "the call retries")
	if text := w.details(call.WorkflowID); !strings.Contains(text, "Retrying") {
		t.Errorf("the current details are %q", text)
	}
	wantStatus := func(want string) {
		t.Helper()
		if got := w.attributes(call.WorkflowID)["PawlStatus"]; got != want {
			t.Errorf("PawlStatus is %q, want %q", got, want)
		}
	}
	wantStatus("retrying")
	if err := w.pawl.Cancel(t.Context(), call.WorkflowID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, w.result(call), toolspec.CodeCancelled)
	wantStatus("settled")
	if text := w.details(call.WorkflowID); text != "" {
		t.Errorf("a settled call still says %q", text)
	}
}

// TestTimeout: an attempt that takes too long is made again, as often as policy and tool allow, and then the call ends. A tool that does not
// listen is left behind, alone.
func TestTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	release := make(chan struct{})
	slow := effects.counted(func(ctx context.Context, _ in, _ toolspec.Call) (out, error) {
		<-ctx.Done()
		return out{}, ctx.Err()
	})
	deaf := effects.counted(func(context.Context, in, toolspec.Call) (out, error) { return stuckUntil(release) })
	w.work(worker.Tools(
		tool("test__slow", slow, within(time.Second), attempts(2)),
		tool("test__slow_fast", slow, fast, within(time.Second), attempts(2)),
		tool("test__slow_send", slow, once, within(time.Second)),
		tool("test__deaf", deaf, within(time.Second), attempts(2)),
		tool("test__deaf_fast", deaf, fast, within(time.Second), attempts(1)),
		tool("test__read", echo, fast),
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
		calls[toolID] = w.start(invocation(toolID, toolID, `{}`))
	}
	for toolID, want := range ends {
		r := w.result(calls[toolID])
		wantCode(t, r, want.code)
		// A task of the local lane that the server gives up on is made anew, with the attempts of which it has not heard.
		runs, local := effects.of(toolID), strings.HasSuffix(toolID, "_fast")
		if r.Attempts != want.attempts || runs < want.attempts || runs > want.attempts && !local {
			t.Errorf("%s: %d attempts and %d runs, want %d", toolID, r.Attempts, runs, want.attempts)
		}
		if want.code == toolspec.CodeOutcomeUnknown && r.Details.Cause != "timeout" {
			t.Errorf("%s: the cause is %q, want timeout", toolID, r.Details.Cause)
		}
	}
	// It is the worker that gave up on a tool, not the server on the worker; on a busy machine the server may be first once.
	if n := count(w.history(calls["test__deaf"].WorkflowID, ""), enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT); n > 1 {
		t.Errorf("the server gave up on %d attempts", n)
	}
	behind := func() int { return strings.Count(w.log.String(), "tool left behind") }
	// Two attempts of one and one of the other are left behind, each with the goroutine that started it, and nothing else.
	left := effects.of("test__deaf") + effects.of("test__deaf_fast")
	w.until(func() bool { return behind() >= left }, "the log says who was left behind")
	if n := behind(); n != left {
		t.Errorf("the log says of %d tools that they were left behind, want %d", n, left)
	}
	wantGoroutines := func(want int) {
		t.Helper()
		var got []string
		w.until(func() bool { got = goroutinesOf("e2etest.stuckUntil"); return len(got) == want }, "the tools that do not listen are left behind alone")
		for _, stack := range got {
			if !strings.Contains(stack, "activities.(*Activities).attempt.func") {
				t.Errorf("this one is not alone:\n%s", stack)
			}
		}
	}
	wantGoroutines(left)
	wantText(t, w.invoke(invocation("read", "test__read", `{"text":"served"}`)), "served")
	close(release)
	wantGoroutines(0)
	// What came too late changed nothing.
	if record := w.record(invocation("test__deaf", "", "")); record.Outcome != "timeout" {
		t.Errorf("the record ended %q", record.Outcome)
	}
}

// stuckUntil is a name to look for among goroutines.
//
//go:noinline
func stuckUntil(release chan struct{}) (out, error) {
	<-release
	return out{Text: "too late"}, nil
}

// goroutinesOf returns the stacks that a function stands in.
func goroutinesOf(function string) []string {
	var text bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&text, 2); err != nil {
		return []string{err.Error()}
	}
	return slices.DeleteFunc(strings.Split(text.String(), "\n\n"), func(stack string) bool { return !strings.Contains(stack, function) })
}
