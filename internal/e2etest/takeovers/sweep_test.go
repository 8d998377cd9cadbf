package takeovers

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/upkeep"
)

// startWithin starts a call whose workflow has an execution timeout.
func startWithin(w *e2etest.World, inv toolspec.Invocation, d time.Duration) {
	w.T.Helper()
	if _, err := w.Temporal.ExecuteWorkflow(w.T.Context(), client.StartWorkflowOptions{
		ID: inv.Identity().WorkflowID(), TaskQueue: toolspec.TaskQueue, WorkflowExecutionTimeout: d,
	}, toolspec.WorkflowType, inv); err != nil {
		w.T.Fatal(err)
	}
}

// TestSweptCalls: a call whose workflow was stopped from outside, at any point, ends in one sweep with the code that fits this point. Its request is closed, its
// tool stops, and its effect does not happen again.
func TestSweptCalls(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	entered, left := make(chan string, 10), make(chan string, 10)
	hang := effects.Counted(func(ctx context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		entered <- call.ToolCallID
		<-ctx.Done()
		left <- call.ToolCallID
		return e2etest.Out{}, ctx.Err()
	})
	stays := e2etest.Within(2 * time.Minute)
	w.Work(worker.Tools(
		e2etest.Tool("test__read", hang, stays), e2etest.Tool("test__write", hang, e2etest.Idempotent, stays),
		e2etest.Tool("test__send", hang, e2etest.Once, stays),
		e2etest.Tool("test__asked", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky),
		e2etest.Tool("test__busy", effects.Counted(func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
			return e2etest.Out{}, toolspec.RetryAfter(2*time.Minute, "not now")
		}), e2etest.Idempotent, e2etest.Attempts(3)),
	))
	// This is long enough for a call to get to its place on a busy machine.
	const limit = 25 * time.Second
	calls := []struct {
		id, tool string
		// timeout is the timeout of the workflow. If it is 0, the workflow is terminated.
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
		inv := e2etest.Invocation(c.id, c.tool, `{"text":"hello"}`)
		if c.timeout > 0 {
			startWithin(w, inv, c.timeout)
		} else {
			w.Start(inv)
		}
		switch c.tool {
		case "test__asked":
			w.Until(func() bool {
				found := e2etest.Query[string](w, `SELECT approval_id FROM approvals WHERE invocation_id = $1::uuid`,
					inv.Identity().InvocationID())
				if len(found) == 1 {
					approvals[c.id] = found[0]
				}
				return len(found) == 1
			}, c.id+" waits for an approval")
		case "test__busy":
			w.Until(func() bool {
				state, err := w.Pawl.State(t.Context(), inv.Identity().WorkflowID())
				return err == nil && state.Status == toolspec.StatusRetrying
			}, "the call retries")
		default:
			e2etest.Receive(t, entered)
			hanging++
		}
		// Terminate the call immediately. On a busy machine the heartbeats of a tool that hangs for a long time may be missed, and the call would end by itself.
		if c.timeout == 0 {
			w.Terminate(inv)
		}
	}
	// This call goes on.
	other := w.Start(e2etest.Invocation("other", "test__asked", `{"text":"hello"}`))
	w.Waiting(other.WorkflowID)
	for _, c := range calls {
		inv := e2etest.Invocation(c.id, c.tool, `{"text":"hello"}`)
		w.Closed(inv)
		record := w.Record(inv)
		if epochs[c.id] = record.Epoch; record.Result != nil {
			t.Errorf("%s: nothing runs after that, and the record says %+v", c.id, record.Result)
		}
	}
	for range hanging {
		e2etest.Receive(t, left)
	}

	out := w.Sweep()
	if out.Calls != (contract.SweepCallsOut{Open: 9, Running: 1, Cancelled: 4, TimedOut: 2, OutcomeUnknown: 2}) {
		t.Errorf("counted %+v", out.Calls)
	}
	for _, c := range calls {
		inv := e2etest.Invocation(c.id, c.tool, `{"text":"hello"}`)
		record := w.Record(inv)
		if record.Result == nil {
			t.Errorf("%s is open", c.id)
			continue
		}
		r := *record.Result
		cause := ""
		if r.Details != nil {
			cause = r.Details.Cause
		}
		if r.ErrorCode != c.code || r.Attempts != c.attempts || cause != c.cause || record.Epoch != epochs[c.id]+1 ||
			record.Status != toolspec.StatusSettled {
			t.Errorf("%s ended %+v with the cause %q, at epoch %d; want %s %q after %d attempts", c.id, r, cause, record.Epoch, c.code, c.cause,
				c.attempts)
		}
		for _, a := range record.Approvals {
			if a.State != contract.RequestClosed {
				t.Errorf("%s: a request is %s", c.id, a.State)
			}
		}
		before := effects.Of(c.id)
		if again := w.RunAgain(inv); !e2etest.SameResult(again, r) {
			t.Errorf("%s: a new run answered %+v, want %+v", c.id, again, r)
		}
		if n := effects.Of(c.id); n != before || n > 1 {
			t.Errorf("%s: the tool ran %d times", c.id, n)
		}
	}
	listed := w.PawlCLI("list", "show waiting", "show sending_late", "approvals", "list --outcome outcome_unknown --json")
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
	if record := w.Record(e2etest.Invocation("other", "", "")); record.Result != nil || record.Epoch != 1 {
		t.Errorf("the call that goes on: %+v", record)
	}
	w.Approve(other.WorkflowID)
	e2etest.WantText(t, w.Result(other), "hello")
	w.EventsOnce(len(calls) + 1)
}

// TestSweepRemembersTheOwner: a start with other arguments completes immediately with a conflict. The sweep does not take that run for the run of the call, whose
// own run decides how the call ended.
func TestSweepRemembersTheOwner(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work(worker.Tools(e2etest.Tool("test__asked", e2etest.Echo, e2etest.Once, e2etest.Risky)))
	w.Until(func() bool { return w.Log.Has("worker runs") }, "the worker runs")
	inv := e2etest.Invocation("asked", "test__asked", `{"text":"hello"}`)
	startWithin(w, inv, 20*time.Second)
	w.Closed(inv)
	w.Until(func() bool {
		return e2etest.Scalar[int](w, `SELECT count(*) FROM invocations WHERE state = 'open'`) == 1
	}, "the call was admitted")
	e2etest.WantCode(t, w.RunAgain(e2etest.Invocation("asked", "test__asked", `{"text":"bye"}`)), toolspec.CodeConflict)
	w.Sweep()
	if record := w.Record(inv); record.Outcome != "timeout" {
		t.Errorf("the record ended %q, want timeout", record.Outcome)
	}
}

// TestSweepAndReset: after a reset the new run owns the call, however the earlier run ended.
func TestSweepAndReset(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	inv := e2etest.Invocation("send", "test__send", `{"text":"hello"}`)
	call := w.Start(inv)
	w.Waiting(call.WorkflowID)
	runID := w.Reset(call.WorkflowID)
	if out := w.Sweep(); out.Calls.Running != 1 || out.Calls.Swept() != 0 {
		t.Errorf("counted %+v", out.Calls)
	}
	w.Approve(call.WorkflowID)
	e2etest.WantText(t, w.ResultOf(call.WorkflowID, runID), "hello")
	// In the other order: a call that was swept stays ended, also for a run that a reset makes later.
	inv = e2etest.Invocation("again", "test__send", `{"text":"hello"}`)
	call = w.Start(inv)
	w.Waiting(call.WorkflowID)
	w.Terminate(inv)
	if out := w.Sweep(); out.Calls.Cancelled != 1 {
		t.Errorf("counted %+v", out.Calls)
	}
	e2etest.WantCode(t, w.ResultOf(call.WorkflowID, w.Reset(call.WorkflowID)), toolspec.CodeCancelled)
	if effects.Of("send") != 1 || effects.Of("again") != 0 {
		t.Errorf("the tool ran %d and %d times, want once and never", effects.Of("send"), effects.Of("again"))
	}
}

// TestSweepOfAnotherNamespace: only the sweep of its own namespace ends a call, because in another namespace its workflow does not exist.
func TestSweepOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	neighbour := e2etest.NewWorldOn(t, w.Address, w.Database, e2etest.PlainPolicy)
	tools := worker.Tools(e2etest.Tool("test__asked", e2etest.Echo, e2etest.Once, e2etest.Risky))
	w.Work(tools)
	neighbour.Work(tools)
	gone, waits := e2etest.Invocation("gone", "test__asked", `{}`), e2etest.Invocation("waits", "test__asked", `{}`)
	for _, inv := range []toolspec.Invocation{gone, waits} {
		w.Waiting(w.Start(inv).WorkflowID)
	}
	w.Terminate(gone)
	if out := neighbour.Sweep(); out.Calls != (contract.SweepCallsOut{}) {
		t.Errorf("the neighbour counted %+v", out.Calls)
	}
	for _, inv := range []toolspec.Invocation{gone, waits} {
		if record := w.Record(inv); record.Result != nil || record.Epoch != 1 {
			t.Errorf("the neighbour touched %+v", record)
		}
	}
	if out := w.Sweep(); out.Calls != (contract.SweepCallsOut{Open: 2, Running: 1, Cancelled: 1}) {
		t.Errorf("counted %+v", out.Calls)
	}
}

// TestSweepAfterDelete: a sweep ends calls whose workflows were deleted with the temporal program while they ran.
func TestSweepAfterDelete(t *testing.T) {
	t.Parallel()
	server := devstacktest.OwnTemporal(t, e2etest.QuickDeletes())
	w := e2etest.NewWorldOn(t, server.Address(), postgrestest.Database(t), e2etest.PlainPolicy)
	var effects e2etest.Ledger
	entered := make(chan struct{}, 1)
	w.Work(worker.Tools(
		e2etest.Tool("test__send", effects.Counted(func(ctx context.Context, _ e2etest.In, _ toolspec.Call) (e2etest.Out, error) {
			entered <- struct{}{}
			<-ctx.Done()
			return e2etest.Out{}, ctx.Err()
		}), e2etest.Once),
		e2etest.Tool("test__asked", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky),
	))
	send, asked := e2etest.Invocation("send", "test__send", `{}`), e2etest.Invocation("asked", "test__asked", `{}`)
	w.Start(send)
	e2etest.Receive(t, entered)
	w.Waiting(w.Start(asked).WorkflowID)
	for _, inv := range []toolspec.Invocation{send, asked} {
		w.MustCLI("workflow", "delete", "--workflow-id", inv.Identity().WorkflowID())
		w.Until(func() bool {
			_, err := w.Temporal.DescribeWorkflowExecution(t.Context(), inv.Identity().WorkflowID(), "")
			return err != nil
		}, inv.ToolCallID+" is gone")
	}
	if out := w.Sweep(); out.Calls.Cancelled != 1 || out.Calls.OutcomeUnknown != 1 {
		t.Errorf("counted %+v", out.Calls)
	}
	r := w.RunAgain(send)
	e2etest.WantCode(t, r, toolspec.CodeOutcomeUnknown)
	if r.Details.Cause != "deleted" || effects.Of("send") != 1 {
		t.Errorf("the cause is %q, and the tool ran %d times", r.Details.Cause, effects.Of("send"))
	}
	e2etest.WantCode(t, w.RunAgain(asked), toolspec.CodeCancelled)
	if n := effects.Of("asked"); n != 0 {
		t.Errorf("the tool ran %d times", n)
	}
}

// TestSweepSchedule: a schedule starts the sweeps.
func TestSweepSchedule(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.SweepEvery = time.Second
	w.Work(worker.Tools(e2etest.Tool("test__asked", e2etest.Echo, e2etest.Once, e2etest.Risky)))
	inv := e2etest.Invocation("asked", "test__asked", `{}`)
	w.Waiting(w.Start(inv).WorkflowID)
	w.Terminate(inv)
	began := time.Now()
	w.Until(func() bool { return w.Record(inv).Outcome == "cancelled" }, "the call is swept")
	t.Logf("swept after %s", time.Since(began))
	d, err := w.Temporal.ScheduleClient().GetHandle(t.Context(), upkeep.SweepID).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Info.RecentActions) == 0 {
		t.Fatalf("the schedule has done nothing: %+v", d.Info)
	}
	last := d.Info.RecentActions[0].StartWorkflowResult
	if !strings.HasPrefix(last.WorkflowID, upkeep.SweepID+"-") {
		t.Errorf("it started %s", last.WorkflowID)
	}
	var out upkeep.SweepOut
	if err := w.Temporal.GetWorkflow(t.Context(), last.WorkflowID, "").Get(t.Context(), &out); err != nil || len(out.Failed) > 0 {
		t.Errorf("it ended with %+v, %v", out, err)
	}
	w.Replay(last.WorkflowID)
	// The schedule starts more sweeps, which find nothing to do.
	w.Until(func() bool {
		said := w.PawlCLI("doctor")[0]
		return strings.Contains(said, "ok    sweeper     every 1s, last at ") && strings.Contains(said, ": 0 open, 0 swept\n")
	}, "doctor says how the last sweep ended")
}
