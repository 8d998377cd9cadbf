//go:build unix

package faultkit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/toolspec"
)

const (
	// parkedCalls is the number of calls that wait at the same time. Each round restarts one worker
	// and decides on an equal part of the calls.
	parkedCalls  = 80
	parkedRounds = 8
	// resumeBound leaves room for a busy machine: a call needs seconds.
	resumeBound = time.Minute
	// parkedLost is the number of calls that may lose an attempt because the machine stalls.
	parkedLost = 4
)

// parked is a call that waits for a person.
type parked struct {
	call *pawl.Call
	// bySignal selects a signal; otherwise the decision is an update.
	bySignal bool
	// sent is the time of the decision, ended the time of the result.
	sent, ended time.Time
	result      toolspec.Result
	err         error
}

// TestParkedApprovals: two workers with a workflow cache of one are restarted in turn while decisions arrive for 80 calls. Each call is
// decided once, has one effect, and continues within resumeBound. The test is not parallel, because it measures time.
func TestParkedApprovals(t *testing.T) {
	w := newWorld(t)
	small := "PAWL_STICKY_CACHE=1"
	workers := []*child{w.work(healthy, small).runs(), w.work(healthy, small).runs()}
	calls := w.park(parkedCalls)
	var slowest, slowestBack time.Duration
	var slow *parked
	for round := range parkedRounds {
		some := calls[round*parkedCalls/parkedRounds : (round+1)*parkedCalls/parkedRounds]
		victim := round % len(workers)
		var deciding sync.WaitGroup
		if round/2%2 == 0 {
			// The worker finishes the tasks that it has started while decisions arrive.
			workers[victim].signal(syscall.SIGTERM)
			w.decideAll(&deciding, some)
			w.until(workers[victim].dead, "a worker that is told to stop ends")
		} else {
			workers[victim].kill()
			w.decideAll(&deciding, some)
		}
		workers[victim] = w.work(healthy, small).runs()
		back := time.Now()
		deciding.Wait()
		for _, p := range some {
			if p.err != nil {
				t.Fatalf("%s: %v", p.call.WorkflowID, p.err)
			}
			slowest = max(slowest, p.ended.Sub(p.sent))
			if d := p.ended.Sub(later(back, p.sent)); d > slowestBack {
				slowestBack, slow = d, p
			}
		}
	}
	t.Logf("from decision to result at most %s, from the return of a worker at most %s", slowest.Round(time.Millisecond), slowestBack.Round(time.Millisecond))
	if slowestBack > resumeBound {
		t.Errorf("a decided call ended %s after its worker was back; the decision was sent at %s:\n%s",
			slowestBack, slow.sent.UTC().Format(time.TimeOnly), w.timeline(slow.call.WorkflowID))
	}
	stoodStill := 0
	for _, p := range calls {
		if !w.decidedOnce(p) {
			stoodStill++
		}
	}
	// No call had a running attempt when a worker was killed.
	if stoodStill > parkedLost {
		t.Errorf("%d calls lost an attempt; want at most %d, on a machine that stalled", stoodStill, parkedLost)
	}
}

// park starts n calls and waits until each of them waits for a person.
func (w *world) park(n int) []*parked {
	w.t.Helper()
	calls := make([]*parked, n)
	slots := make(chan struct{}, 16)
	var starting sync.WaitGroup
	for i := range calls {
		slots <- struct{}{}
		starting.Go(func() {
			defer func() { <-slots }()
			p := &parked{bySignal: i%2 == 0}
			p.call, p.err = w.pawl.Start(w.t.Context(), invocation(fmt.Sprintf("call-%d", i), ledger.Ask, ledger.In{Text: "hello"}))
			calls[i] = p
		})
	}
	starting.Wait()
	for _, p := range calls {
		if p.err != nil {
			w.t.Fatal(p.err)
		}
	}
	w.until(func() bool {
		open, err := w.store.Approvals(w.t.Context(), pawl.ApprovalFilter{TenantID: "acme"})
		return err == nil && len(open) == n
	}, fmt.Sprintf("%d calls wait", n))
	return calls
}

// decideAll decides on all calls at the same time. It waits for their results in goroutines of
// deciding.
func (w *world) decideAll(deciding *sync.WaitGroup, calls []*parked) {
	for _, p := range calls {
		deciding.Go(func() {
			p.sent = time.Now()
			if p.err = w.decide(p); p.err == nil {
				p.result, p.err = w.ended(p.call, waitTimeout)
			}
			p.ended = time.Now()
		})
	}
}

func (w *world) decide(p *parked) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), waitTimeout)
	defer cancel()
	if p.bySignal {
		return w.temporal.SignalWorkflow(ctx, p.call.WorkflowID, "", toolspec.DecideName, approval(p.call))
	}
	answer, err := w.pawl.Decide(ctx, p.call.WorkflowID, approval(p.call))
	if errors.Is(err, pawl.ErrSettled) {
		return nil // the worker ended before it answered, and the call settled before the client asked again; decidedOnce checks the decision
	}
	if err == nil && !answer.Counted {
		err = fmt.Errorf("the approval does not count: %s", answer.Reason)
	}
	return err
}

// decidedOnce checks a call that was approved, and reports whether it ended with its effect. No worker is killed during an attempt, but a
// machine that stalls can lose one. The caller bounds the number of lost attempts.
func (w *world) decidedOnce(p *parked) bool {
	w.t.Helper()
	e := w.evidence(p.call, p.result)
	w.agrees(e)
	stoodStill := e.result.ErrorCode == toolspec.CodeOutcomeUnknown && e.tasks.lostAttempts > 0
	if !stoodStill && (!e.result.OK || len(e.effects) != 1) {
		w.t.Errorf("%s ended with %s and %d effects (%s), want ok with one effect", p.call.WorkflowID, codeOf(e.result), len(e.effects), e.tasks)
	}
	if n := len(e.record.Approvals[0].Decisions); n != 1 {
		w.t.Errorf("%s has %d decisions, want 1", p.call.WorkflowID, n)
	}
	for _, event := range w.history(p.call.WorkflowID).GetEvents() {
		if f := event.GetWorkflowTaskFailedEventAttributes(); f.GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR {
			w.t.Errorf("%s: the replay is not deterministic: %s", p.call.WorkflowID, f.GetFailure().GetMessage())
		}
	}
	return !stoodStill
}

// TestStickyWorkerKilledWhileWaiting: the only worker that has cached a waiting call is killed, and another worker gets the decision. The
// test is not parallel, because it measures time.
func TestStickyWorkerKilledWhileWaiting(t *testing.T) {
	w := newWorld(t)
	first := w.work(healthy).runs()
	calls := w.park(2)
	for _, p := range calls {
		w.asked(p.call)
	}
	second := w.work(healthy).runs()
	first.kill()
	var deciding sync.WaitGroup
	w.decideAll(&deciding, calls)
	deciding.Wait()
	stoodStill := 0
	for _, p := range calls {
		if p.err != nil {
			t.Fatalf("%s: %v", p.call.WorkflowID, p.err)
		}
		if !w.decidedOnce(p) {
			stoodStill++
		}
		took := p.ended.Sub(p.sent)
		t.Logf("by signal %t: from the decision to the result %s; %s", p.bySignal, took.Round(time.Millisecond), tasksOf(w.history(p.call.WorkflowID)))
		if took > resumeBound {
			t.Errorf("the call ended %s after the decision", took)
		}
		if got := w.ledger.Of(p.call.InvocationID); len(got) > 0 && got[0].PID != second.pid() {
			t.Errorf("the tool was run by %+v, want process %d", got, second.pid())
		}
	}
	if stoodStill > 1 {
		t.Errorf("all %d calls lost their attempt", stoodStill)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
