package e2etest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows"
)

// sweep runs one sweep, as the schedule would.
func (w *world) sweep() workflows.SweepOut {
	w.t.Helper()
	run, err := w.temporal.ExecuteWorkflow(w.t.Context(), client.StartWorkflowOptions{TaskQueue: toolspec.TaskQueue}, workflows.SweepType)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	var out workflows.SweepOut
	if err := run.Get(ctx, &out); err != nil {
		w.t.Fatal(err)
	}
	if len(out.Failed) > 0 {
		w.t.Fatalf("these failed: %v", out.Failed)
	}
	return out
}

func (w *world) terminate(inv toolspec.Invocation) {
	w.t.Helper()
	id := inv.Identity().WorkflowID()
	err := w.temporal.TerminateWorkflow(w.t.Context(), id, "", "a test")
	// On a busy machine the answer may be lost: then it is asked for again, and the workflow is closed already.
	var closed *serviceerror.NotFound
	if errors.As(err, &closed) && w.describe(id).GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED {
		return
	}
	if err != nil {
		w.t.Fatalf("%s: %v; its record has %+v", id, err, w.record(inv).Result)
	}
}

// startWithin starts a call whose workflow ends after a time, whatever it does.
func (w *world) startWithin(inv toolspec.Invocation, d time.Duration) {
	w.t.Helper()
	if _, err := w.temporal.ExecuteWorkflow(w.t.Context(), client.StartWorkflowOptions{
		ID: inv.Identity().WorkflowID(), TaskQueue: toolspec.TaskQueue, WorkflowExecutionTimeout: d,
	}, toolspec.WorkflowType, inv); err != nil {
		w.t.Fatal(err)
	}
}

// over waits until no run of the call goes on.
func (w *world) over(inv toolspec.Invocation) {
	w.t.Helper()
	ended := func() bool {
		return w.describe(inv.Identity().WorkflowID()).GetWorkflowExecutionInfo().GetCloseTime() != nil
	}
	// Twice, for some wait for a timeout of their own.
	if !eventually(w.t.Context(), ended) {
		w.until(ended, inv.ToolCallID+" is over")
	}
}

// TestSweptCalls: a call whose workflow was stopped from outside, wherever it stood, ends within one sweep as what it was, its request
// is closed, its tool stops, and nothing brings its effect again.
func TestSweptCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	entered, left := make(chan string, 10), make(chan string, 10)
	hang := effects.counted(func(ctx context.Context, _ in, call toolspec.Call) (out, error) {
		entered <- call.ToolCallID
		<-ctx.Done()
		left <- call.ToolCallID
		return out{}, ctx.Err()
	})
	stays := within(2 * time.Minute)
	w.work(worker.Tools(
		tool("test__read", hang, stays), tool("test__write", hang, idempotent, stays), tool("test__send", hang, once, stays),
		tool("test__asked", effects.counted(echo), once, risky),
		tool("test__busy", effects.counted(func(context.Context, in, toolspec.Call) (out, error) {
			return out{}, toolspec.RetryAfter(2*time.Minute, "not now")
		}), idempotent, attempts(3)),
	))
	// Long enough to get to its place on a busy machine.
	const limit = 25 * time.Second
	calls := []struct {
		id, tool string
		// timeout is the workflow's own; else it is terminated.
		timeout  time.Duration
		code     toolspec.Code
		attempts int
		cause    string
	}{
		{"waiting", "test__asked", 0, toolspec.CodeCancelled, 0, ""},
		{"waiting_late", "test__asked", limit, toolspec.CodeTimeout, 0, ""},
		{"reading", "test__read", 0, toolspec.CodeCancelled, 1, ""},
		{"writing", "test__write", 0, toolspec.CodeCancelled, 1, ""},
		{"writing_late", "test__write", limit, toolspec.CodeTimeout, 1, ""},
		{"sending", "test__send", 0, toolspec.CodeOutcomeUnknown, 1, "terminated"},
		{"sending_late", "test__send", limit, toolspec.CodeOutcomeUnknown, 1, "timed_out"},
		{"retrying", "test__busy", 0, toolspec.CodeCancelled, 1, ""},
	}
	approvals, epochs, hanging := map[string]string{}, map[string]int{}, 0
	for _, c := range calls {
		inv := invocation(c.id, c.tool, `{"text":"hello"}`)
		if c.timeout > 0 {
			w.startWithin(inv, c.timeout)
		} else {
			w.start(inv)
		}
		switch c.tool {
		case "test__asked":
			w.until(func() bool {
				found := query[string](w, `SELECT approval_id FROM approvals WHERE invocation_id = $1::uuid`, inv.Identity().InvocationID())
				if len(found) == 1 {
					approvals[c.id] = found[0]
				}
				return len(found) == 1
			}, c.id+" waits for an approval")
		case "test__busy":
			w.until(func() bool {
				state, err := w.pawl.State(t.Context(), inv.Identity().WorkflowID())
				return err == nil && state.Status == toolspec.StatusRetrying
			}, "the call retries")
		default:
			receive(t, entered)
			hanging++
		}
	}
	// One goes on.
	other := w.start(invocation("other", "test__asked", `{"text":"hello"}`))
	w.waiting(other.WorkflowID)
	for _, c := range calls {
		inv := invocation(c.id, c.tool, `{"text":"hello"}`)
		if c.timeout == 0 {
			w.terminate(inv)
		}
		w.over(inv)
		record := w.record(inv)
		if epochs[c.id] = record.Epoch; record.Result != nil {
			t.Errorf("%s: nothing runs after that, and the record says %+v", c.id, record.Result)
		}
	}
	for range hanging {
		receive(t, left)
	}

	out := w.sweep()
	if out.Calls != (workflows.SweepCallsOut{Open: 9, Running: 1, Cancelled: 4, TimedOut: 2, OutcomeUnknown: 2}) {
		t.Errorf("counted %+v", out.Calls)
	}
	for _, c := range calls {
		inv := invocation(c.id, c.tool, `{"text":"hello"}`)
		record := w.record(inv)
		if record.Result == nil {
			t.Errorf("%s is open", c.id)
			continue
		}
		r := *record.Result
		cause := ""
		if r.Details != nil {
			cause = r.Details.Cause
		}
		if r.ErrorCode != c.code || r.Attempts != c.attempts || cause != c.cause || record.Epoch != epochs[c.id]+1 || record.Status != toolspec.StatusSettled {
			t.Errorf("%s ended %+v with the cause %q, at epoch %d; want %s %q after %d attempts", c.id, r, cause, record.Epoch, c.code, c.cause, c.attempts)
		}
		for _, a := range record.Approvals {
			if a.State != workflows.RequestClosed {
				t.Errorf("%s: a request is %s", c.id, a.State)
			}
		}
		before := effects.of(c.id)
		if again := w.runAgain(inv); !same(again, r) {
			t.Errorf("%s: a new run answered %+v, want %+v", c.id, again, r)
		}
		if n := effects.of(c.id); n != before || n > 1 {
			t.Errorf("%s: the tool ran %d times", c.id, n)
		}
	}
	listed := w.pawlCLI("list", "show waiting", "show sending_late", "approvals", "list --outcome outcome_unknown --json")
	for i, words := range []string{"outcome_unknown", "result: cancelled", "cause: timed_out", "", "sending"} {
		if !strings.Contains(listed[i], words) {
			t.Errorf("command %d printed %s", i, listed[i])
		}
	}
	for id, approvalID := range approvals {
		if strings.Contains(listed[3], approvalID) {
			t.Errorf("the request of %s is still listed", id)
		}
	}
	if record := w.record(invocation("other", "", "")); record.Result != nil || record.Epoch != 1 {
		t.Errorf("the call that goes on: %+v", record)
	}
	w.approve(other.WorkflowID)
	wantText(t, w.result(other), "hello")
}

// TestSweepRemembersTheOwner: a start with other arguments completes at once, with a conflict; how the call itself ended is for its own
// run to say.
func TestSweepRemembersTheOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	w.work(worker.Tools(tool("test__asked", echo, once, risky)))
	w.until(func() bool { return w.log.has("worker runs") }, "the worker runs")
	inv := invocation("asked", "test__asked", `{"text":"hello"}`)
	w.startWithin(inv, 20*time.Second)
	w.over(inv)
	w.until(func() bool {
		return scalar[int](w, `SELECT count(*) FROM invocations WHERE state = 'open'`) == 1
	}, "the call was admitted")
	wantCode(t, w.runAgain(invocation("asked", "test__asked", `{"text":"bye"}`)), toolspec.CodeConflict)
	w.sweep()
	if record := w.record(inv); record.Outcome != "timeout" {
		t.Errorf("the record ended %q, want timeout", record.Outcome)
	}
}

// TestSweepAndReset: a run that a reset made is the owner, whatever became of the one before.
func TestSweepAndReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	w.work(worker.Tools(tool("test__send", effects.counted(echo), once, risky)))
	inv := invocation("send", "test__send", `{"text":"hello"}`)
	call := w.start(inv)
	w.waiting(call.WorkflowID)
	runID := w.reset(call.WorkflowID)
	if out := w.sweep(); out.Calls.Running != 1 || out.Calls.Swept() != 0 {
		t.Errorf("counted %+v", out.Calls)
	}
	w.approve(call.WorkflowID)
	wantText(t, w.resultOf(call.WorkflowID, runID), "hello")
	// And the other way round: what was swept stays so, for a reset too.
	inv = invocation("again", "test__send", `{"text":"hello"}`)
	call = w.start(inv)
	w.waiting(call.WorkflowID)
	w.terminate(inv)
	if out := w.sweep(); out.Calls.Cancelled != 1 {
		t.Errorf("counted %+v", out.Calls)
	}
	wantCode(t, w.resultOf(call.WorkflowID, w.reset(call.WorkflowID)), toolspec.CodeCancelled)
	if effects.of("send") != 1 || effects.of("again") != 0 {
		t.Errorf("the tool ran %d and %d times, want once and never", effects.of("send"), effects.of("again"))
	}
}

// TestSweepOfAnotherNamespace: a call is swept from its own namespace only, for in any other its workflow does not exist.
func TestSweepOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	neighbour := newWorldOn(t, w.address, w.database, plainPolicy)
	tools := worker.Tools(tool("test__asked", echo, once, risky))
	w.work(tools)
	neighbour.work(tools)
	gone, waits := invocation("gone", "test__asked", `{}`), invocation("waits", "test__asked", `{}`)
	for _, inv := range []toolspec.Invocation{gone, waits} {
		w.waiting(w.start(inv).WorkflowID)
	}
	w.terminate(gone)
	if out := neighbour.sweep(); out.Calls != (workflows.SweepCallsOut{}) {
		t.Errorf("the neighbour counted %+v", out.Calls)
	}
	for _, inv := range []toolspec.Invocation{gone, waits} {
		if record := w.record(inv); record.Result != nil || record.Epoch != 1 {
			t.Errorf("the neighbour touched %+v", record)
		}
	}
	if out := w.sweep(); out.Calls != (workflows.SweepCallsOut{Open: 2, Running: 1, Cancelled: 1}) {
		t.Errorf("counted %+v", out.Calls)
	}
}

// TestSweepAfterDelete: calls that were deleted while they ran, with the real program.
func TestSweepAfterDelete(t *testing.T) {
	t.Parallel()
	server := devstacktest.OwnTemporal(t, quickDeletes())
	w := newWorldOn(t, server.Address(), devstacktest.Postgres(t), plainPolicy)
	var effects ledger
	entered := make(chan struct{}, 1)
	w.work(worker.Tools(
		tool("test__send", effects.counted(func(ctx context.Context, _ in, _ toolspec.Call) (out, error) {
			entered <- struct{}{}
			<-ctx.Done()
			return out{}, ctx.Err()
		}), once),
		tool("test__asked", effects.counted(echo), once, risky),
	))
	send, asked := invocation("send", "test__send", `{}`), invocation("asked", "test__asked", `{}`)
	w.start(send)
	receive(t, entered)
	w.waiting(w.start(asked).WorkflowID)
	for _, inv := range []toolspec.Invocation{send, asked} {
		w.mustCLI("workflow", "delete", "--workflow-id", inv.Identity().WorkflowID())
		w.until(func() bool {
			_, err := w.temporal.DescribeWorkflowExecution(t.Context(), inv.Identity().WorkflowID(), "")
			return err != nil
		}, inv.ToolCallID+" is gone")
	}
	if out := w.sweep(); out.Calls.Cancelled != 1 || out.Calls.OutcomeUnknown != 1 {
		t.Errorf("counted %+v", out.Calls)
	}
	r := w.runAgain(send)
	wantCode(t, r, toolspec.CodeOutcomeUnknown)
	if r.Details.Cause != "deleted" || effects.of("send") != 1 {
		t.Errorf("the cause is %q, and the tool ran %d times", r.Details.Cause, effects.of("send"))
	}
	wantCode(t, w.runAgain(asked), toolspec.CodeCancelled)
	if n := effects.of("asked"); n != 0 {
		t.Errorf("the tool ran %d times", n)
	}
}

// TestSweepSchedule: nobody has to ask for a sweep.
func TestSweepSchedule(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	w.sweepEvery = time.Second
	w.work(worker.Tools(tool("test__asked", echo, once, risky)))
	inv := invocation("asked", "test__asked", `{}`)
	w.waiting(w.start(inv).WorkflowID)
	w.terminate(inv)
	began := time.Now()
	w.until(func() bool { return w.record(inv).Outcome == "cancelled" }, "the call is swept")
	t.Logf("swept after %s", time.Since(began))
	d, err := w.temporal.ScheduleClient().GetHandle(t.Context(), workflows.SweepID).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Info.RecentActions) == 0 {
		t.Fatalf("the schedule has done nothing: %+v", d.Info)
	}
	last := d.Info.RecentActions[0].StartWorkflowResult
	if !strings.HasPrefix(last.WorkflowID, workflows.SweepID+"-") {
		t.Errorf("it started %s", last.WorkflowID)
	}
	var out workflows.SweepOut
	if err := w.temporal.GetWorkflow(t.Context(), last.WorkflowID, "").Get(t.Context(), &out); err != nil || len(out.Failed) > 0 {
		t.Errorf("it ended with %+v, %v", out, err)
	}
	w.replay(last.WorkflowID)
	// It goes on firing, and finds nothing.
	w.until(func() bool {
		said := w.pawlCLI("doctor")[0]
		return strings.Contains(said, "ok    sweeper     every 1s, last at ") && strings.Contains(said, ": 0 open, 0 swept\n")
	}, "doctor says how the last sweep ended")
}
