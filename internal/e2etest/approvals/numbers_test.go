package approvals

import (
	"errors"
	"fmt"
	"testing"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// These are the limits of the server in these tests. Its defaults are 10 000 signals and 2 000 updates for one workflow.
const (
	mostSignals = 100
	mostUpdates = 40
	// mostInFlight is the default of the server for updates that have not completed.
	mostInFlight = 10
)

// TestTooManyMessages: when a call has got as many signals or updates as the server allows for one workflow, the next sender gets an error that says so. The
// call can still be decided on in the other way, and completes. The server allows ten updates that have not completed. Decisions that wait use fewer of
// them, so that others can still come.
func TestTooManyMessages(t *testing.T) {
	t.Parallel()
	server := devstacktest.OwnTemporal(t, devstack.TemporalOptions{DynamicConfig: []string{
		fmt.Sprintf("history.maximumSignalsPerExecution=%d", mostSignals), fmt.Sprintf("history.maxTotalUpdates=%d", mostUpdates),
	}})
	w := e2etest.NewWorldOn(t, server.Address(), postgrestest.Database(t), e2etest.PlainPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	each := func(name string, f func(w *e2etest.World, call *pawl.Call, view toolspec.ApprovalView)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.T = t
			inv := e2etest.Invocation(name, "test__send", `{"text":"hello"}`)
			call := w.Start(inv)
			f(&w, call, w.Waiting(call.WorkflowID))
			e2etest.WantText(t, w.Result(call), "hello")
			if n := effects.Of(name); n != 1 {
				t.Errorf("the tool ran %d times", n)
			}
			counted := 0
			for _, d := range w.Record(inv).Approvals[0].Decisions {
				if d.Counted {
					counted++
				}
			}
			if counted != 1 {
				t.Errorf("%d decisions counted", counted)
			}
		})
	}
	signal := func(w *e2etest.World, call *pawl.Call, d toolspec.Decision) error {
		return w.Temporal.SignalWorkflow(w.T.Context(), call.WorkflowID, "", toolspec.DecideName, d)
	}
	each("signals", func(w *e2etest.World, call *pawl.Call, view toolspec.ApprovalView) {
		for i := range mostSignals {
			var err error
			switch i % 3 {
			case 0:
				err = w.Pawl.Recheck(w.T.Context(), call.WorkflowID)
			case 1:
				err = signal(w, call, e2etest.Approving(view.ApprovalID, e2etest.Actor))
			default:
				err = signal(w, call, e2etest.Approving(toolspec.ApprovalID(call.InvocationID, 2), fmt.Sprintf("user:%d", i)))
			}
			if err != nil {
				w.T.Fatalf("signal %d: %v", i, err)
			}
		}
		err := signal(w, call, e2etest.Approving(view.ApprovalID, e2etest.Ann))
		var much *serviceerror.InvalidArgument
		if !errors.As(err, &much) {
			w.T.Errorf("one signal more: %T %v, want InvalidArgument", err, err)
		}
		if err := w.Pawl.Recheck(w.T.Context(), call.WorkflowID); err == nil || errors.Is(err, pawl.ErrSettled) {
			w.T.Errorf("one recheck more: %v", err)
		}
		w.Approve(call.WorkflowID)
	})
	each("updates", func(w *e2etest.World, call *pawl.Call, view toolspec.ApprovalView) {
		for i := range mostUpdates {
			d := e2etest.Approving(view.ApprovalID, e2etest.Actor)
			d.Reason = fmt.Sprint(i)
			w.WantAnswer(call, d, "requester")
		}
		_, err := w.Temporal.UpdateWorkflow(w.T.Context(), client.UpdateWorkflowOptions{
			UpdateID: "one-more", WorkflowID: call.WorkflowID, UpdateName: toolspec.DecideName,
			Args:         []any{e2etest.Approving(view.ApprovalID, e2etest.Ann)},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		var much *serviceerror.FailedPrecondition
		if !errors.As(err, &much) {
			w.T.Errorf("one update more: %v, want FailedPrecondition", err)
		}
		w.WantAnswer(call, e2etest.Approving(view.ApprovalID, e2etest.Ann), "") // the client sends a signal
	})
	each("updates at once", func(w *e2etest.World, call *pawl.Call, view toolspec.ApprovalView) {
		// The decisions are for a request that is not open yet, so the updates that the call accepts do not complete.
		early := func(i int) toolspec.Decision {
			return e2etest.Approving(toolspec.ApprovalID(call.InvocationID, 2), fmt.Sprintf("user:%d", i))
		}
		type reply struct {
			answer toolspec.Answer
			err    error
		}
		replies := make(chan reply, mostInFlight)
		for i := range mostInFlight {
			go func() {
				answer, err := w.Pawl.Decide(w.T.Context(), call.WorkflowID, early(i))
				replies <- reply{answer, err}
			}()
		}
		accepted := func() (n int) {
			for i := range mostInFlight {
				if w.HasUpdate(call.WorkflowID, w.UpdateID(early(i))) {
					n++
				}
			}
			return n
		}
		w.Until(func() bool {
			return accepted() == 5 && w.State(call.WorkflowID).Approval != nil && signals(w, call.WorkflowID) == mostInFlight-5
		},
			"five updates wait, and the others went as signals")
		w.WantAnswer(call, e2etest.Approving(view.ApprovalID, e2etest.Ann), "")
		for range mostInFlight {
			if r := e2etest.Receive(w.T, replies); r.err != nil || r.answer.Counted {
				w.T.Errorf("a decision that came too early: %+v and %v, want that it does not count", r.answer, r.err)
			}
		}
	})
}

// signals counts the signals in the history of a call.
func signals(w *e2etest.World, workflowID string) (n int) {
	w.T.Helper()
	for _, e := range w.History(workflowID, "").GetEvents() {
		if e.GetWorkflowExecutionSignaledEventAttributes() != nil {
			n++
		}
	}
	return n
}

// TestOneDecisionCounts: a decision that comes twice or too early counts once, and one that comes too late does not count.
func TestOneDecisionCounts(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	tools := worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky))
	stop := w.Work(tools)
	of := func(id string) (toolspec.Invocation, *pawl.Call) {
		inv := e2etest.Invocation(id, "test__send", `{"text":"hello"}`)
		return inv, w.Start(inv)
	}
	signal := func(call *pawl.Call, d toolspec.Decision) {
		t.Helper()
		if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, d); err != nil {
			t.Fatal(err)
		}
	}
	twiceInv, twice := of("twice")
	view := w.Waiting(twice.WorkflowID)
	lateInv, late := of("late")
	lateView := w.Waiting(late.WorkflowID)
	stop()
	// The decision comes twice before the call waits.
	earlyInv, early := of("early")
	for range 2 {
		signal(early, e2etest.Approving(toolspec.ApprovalID(early.InvocationID, 1), e2etest.Ann))
		signal(twice, e2etest.Approving(view.ApprovalID, e2etest.Ann))
	}
	// The request of the late decision expires while no worker runs.
	e2etest.Query[string](w, `UPDATE approvals SET created_at = created_at - interval '1 hour', expires_at = expires_at - interval '1 hour'
		WHERE approval_id = $1 RETURNING approval_id`, lateView.ApprovalID)
	signal(late, e2etest.Approving(lateView.ApprovalID, e2etest.Ann))
	w.Work(tools)

	for id, c := range map[string]struct {
		inv  toolspec.Invocation
		call *pawl.Call
	}{"twice": {twiceInv, twice}, "early": {earlyInv, early}} {
		e2etest.WantText(t, w.Result(c.call), "hello")
		a := w.Record(c.inv).Approvals
		if effects.Of(id) != 1 || len(a) != 1 || a[0].State != "approved" || len(a[0].Decisions) != 1 || !a[0].Decisions[0].Counted {
			t.Errorf("%s: %d effects and the requests %+v, want one of each with one decision", id, effects.Of(id), a)
		}
		err := w.Temporal.SignalWorkflow(t.Context(), c.call.WorkflowID, "", toolspec.DecideName,
			e2etest.Approving(a[0].ApprovalID, e2etest.Ben))
		var gone *serviceerror.NotFound
		if !errors.As(err, &gone) {
			t.Errorf("%s: a decision after the end: %v, want NotFound", id, err)
		}
		if again := w.Record(c.inv).Approvals; e2etest.AsJSON(again) != e2etest.AsJSON(a) {
			t.Errorf("%s: the requests are %+v after that, want %+v", id, again, a)
		}
	}
	e2etest.WantCode(t, w.Result(late), toolspec.CodeApprovalExpired)
	a := w.Record(lateInv).Approvals
	if effects.Of("late") != 0 || len(a) != 1 || a[0].State != "expired" {
		t.Errorf("late: %d effects and the requests %+v, want none and one that expired", effects.Of("late"), a)
	}
	for _, d := range a[0].Decisions {
		if d.Counted {
			t.Errorf("late: %+v counted", d)
		}
	}
}
