package e2etest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// The server's limits in these tests, in place of its 10 000 signals and 2 000 updates for one workflow.
const (
	mostSignals = 100
	mostUpdates = 40
	// mostInFlight is the server's own.
	mostInFlight = 10
)

// TestTooManyMessages: a call that was sent all the signals or updates that the server lets one workflow have tells the next sender so,
// can still be decided by the other way, and completes.
func TestTooManyMessages(t *testing.T) {
	t.Parallel()
	server := devstacktest.OwnTemporal(t, devstack.TemporalOptions{DynamicConfig: []string{
		fmt.Sprintf("history.maximumSignalsPerExecution=%d", mostSignals), fmt.Sprintf("history.maxTotalUpdates=%d", mostUpdates),
	}})
	w := newWorldOn(t, server.Address(), devstacktest.Postgres(t), plainPolicy)
	var effects ledger
	w.work(worker.Tools(tool("test__send", effects.counted(echo), once, risky)))
	each := func(name string, f func(w *world, call *pawl.Call, view toolspec.ApprovalView)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.t = t
			inv := invocation(name, "test__send", `{"text":"hello"}`)
			call := w.start(inv)
			f(&w, call, w.waiting(call.WorkflowID))
			wantText(t, w.result(call), "hello")
			if n := effects.of(name); n != 1 {
				t.Errorf("the tool ran %d times", n)
			}
			counted := 0
			for _, d := range w.record(inv).Approvals[0].Decisions {
				if d.Counted {
					counted++
				}
			}
			if counted != 1 {
				t.Errorf("%d decisions counted", counted)
			}
		})
	}
	signal := func(w *world, call *pawl.Call, d toolspec.Decision) error {
		return w.temporal.SignalWorkflow(w.t.Context(), call.WorkflowID, "", toolspec.DecideName, d)
	}
	each("signals", func(w *world, call *pawl.Call, view toolspec.ApprovalView) {
		for i := range mostSignals {
			var err error
			switch i % 3 {
			case 0:
				err = w.pawl.Recheck(w.t.Context(), call.WorkflowID)
			case 1:
				err = signal(w, call, approval(view.ApprovalID, actor))
			default:
				err = signal(w, call, approval(toolspec.ApprovalID(call.InvocationID, 2), fmt.Sprintf("user:%d", i)))
			}
			if err != nil {
				w.t.Fatalf("signal %d: %v", i, err)
			}
		}
		err := signal(w, call, approval(view.ApprovalID, ann))
		var much *serviceerror.InvalidArgument
		if !errors.As(err, &much) {
			w.t.Errorf("one signal more: %T %v, want InvalidArgument", err, err)
		}
		if err := w.pawl.Recheck(w.t.Context(), call.WorkflowID); err == nil || errors.Is(err, pawl.ErrSettled) {
			w.t.Errorf("one recheck more: %v", err)
		}
		w.approve(call.WorkflowID)
	})
	each("updates", func(w *world, call *pawl.Call, view toolspec.ApprovalView) {
		for i := range mostUpdates {
			d := approval(view.ApprovalID, actor)
			d.Reason = fmt.Sprint(i)
			w.wantAnswer(call, d, "requester")
		}
		ctx, cancel := context.WithTimeout(w.t.Context(), patience)
		defer cancel()
		_, err := w.pawl.Decide(ctx, call.WorkflowID, approval(view.ApprovalID, ann))
		var much *serviceerror.FailedPrecondition
		if !errors.As(err, &much) {
			w.t.Errorf("one update more: %v, want FailedPrecondition", err)
		}
		if err := signal(w, call, approval(view.ApprovalID, ann)); err != nil {
			w.t.Fatal(err)
		}
	})
	each("updates at once", func(w *world, call *pawl.Call, view toolspec.ApprovalView) {
		// They are for a request that is not open yet, so they wait.
		early := func(approver string) toolspec.Decision {
			return approval(toolspec.ApprovalID(call.InvocationID, 2), approver)
		}
		type reply struct {
			answer toolspec.Answer
			err    error
		}
		replies := make(chan reply, mostInFlight)
		for i := range mostInFlight {
			go func() {
				answer, err := w.pawl.Decide(w.t.Context(), call.WorkflowID, early(fmt.Sprintf("user:%d", i)))
				replies <- reply{answer, err}
			}()
		}
		for i := range mostInFlight {
			w.until(func() bool { return w.hasUpdate(call.WorkflowID, w.updateID(early(fmt.Sprintf("user:%d", i)))) }, "the server has the update")
		}
		// One more is not taken, and its sender learns that nobody confirms it.
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
		defer cancel()
		if _, err := w.pawl.Decide(ctx, call.WorkflowID, early(ann)); !errors.Is(err, pawl.ErrNotConfirmed) {
			w.t.Errorf("one update more: %v, want ErrNotConfirmed", err)
		}
		if w.hasUpdate(call.WorkflowID, w.updateID(early(ann))) {
			w.t.Error("the server took one update more than it lets be in flight")
		}
		if err := signal(w, call, approval(view.ApprovalID, ann)); err != nil {
			w.t.Fatal(err)
		}
		for range mostInFlight {
			if r := receive(w.t, replies); r.err != nil || r.answer.Counted {
				w.t.Errorf("a decision that came too early: %+v and %v, want that it does not count", r.answer, r.err)
			}
		}
	})
}

// TestOneDecisionCounts: a decision that comes twice, too early or too late counts at most once.
func TestOneDecisionCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	tools := worker.Tools(tool("test__send", effects.counted(echo), once, risky))
	stop := w.work(tools)
	of := func(id string) (toolspec.Invocation, *pawl.Call) {
		inv := invocation(id, "test__send", `{"text":"hello"}`)
		return inv, w.start(inv)
	}
	signal := func(call *pawl.Call, d toolspec.Decision) {
		t.Helper()
		if err := w.temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, d); err != nil {
			t.Fatal(err)
		}
	}
	twiceInv, twice := of("twice")
	view := w.waiting(twice.WorkflowID)
	lateInv, late := of("late")
	lateView := w.waiting(late.WorkflowID)
	stop()
	// Before the wait is registered, twice.
	earlyInv, early := of("early")
	for range 2 {
		signal(early, approval(toolspec.ApprovalID(early.InvocationID, 1), ann))
		signal(twice, approval(view.ApprovalID, ann))
	}
	// The hour of the late one passes while nobody works.
	query[string](w, `UPDATE approvals SET created_at = created_at - interval '1 hour', expires_at = expires_at - interval '1 hour'
		WHERE approval_id = $1 RETURNING approval_id`, lateView.ApprovalID)
	signal(late, approval(lateView.ApprovalID, ann))
	w.work(tools)

	for id, c := range map[string]struct {
		inv  toolspec.Invocation
		call *pawl.Call
	}{"twice": {twiceInv, twice}, "early": {earlyInv, early}} {
		wantText(t, w.result(c.call), "hello")
		a := w.record(c.inv).Approvals
		if effects.of(id) != 1 || len(a) != 1 || a[0].State != "approved" || len(a[0].Decisions) != 1 || !a[0].Decisions[0].Counted {
			t.Errorf("%s: %d effects and the requests %+v, want one of each with one decision", id, effects.of(id), a)
		}
		err := w.temporal.SignalWorkflow(t.Context(), c.call.WorkflowID, "", toolspec.DecideName, approval(a[0].ApprovalID, ben))
		var gone *serviceerror.NotFound
		if !errors.As(err, &gone) {
			t.Errorf("%s: a decision after the end: %v, want NotFound", id, err)
		}
		if again := w.record(c.inv).Approvals; asJSON(again) != asJSON(a) {
			t.Errorf("%s: the requests are %+v after that, want %+v", id, again, a)
		}
	}
	wantCode(t, w.result(late), toolspec.CodeApprovalExpired)
	a := w.record(lateInv).Approvals
	if effects.of("late") != 0 || len(a) != 1 || a[0].State != "expired" {
		t.Errorf("late: %d effects and the requests %+v, want none and one that expired", effects.of("late"), a)
	}
	for _, d := range a[0].Decisions {
		if d.Counted {
			t.Errorf("late: %+v counted", d)
		}
	}
}
