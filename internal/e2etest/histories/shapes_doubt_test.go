package histories

import (
	"context"
	"os"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// doubt records calls that lose an attempt that must not be repeated. Either the probe finds out what happened, or a person decides, or the call waits for a
// person.
func (r *recorder) doubt(t *testing.T) {
	w := e2etest.NewWorld(t, e2etest.ParkingPolicy)
	plantWorkerKey(w)
	leave := make(chan struct{})
	hangs := func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		if call.Attempt == 1 {
			<-ctx.Done()
			if in.Note == "late" {
				<-leave
			}
			return e2etest.Out{}, ctx.Err()
		}
		return e2etest.Echo(ctx, in, call)
	}
	w.Work(worker.Tools(waitingTool("test__send", hangs), waitingTool("test__probed", hangs), waitingTool("test__fenced", hangs)))
	t.Cleanup(func() { close(leave) }) // this runs before the worker stops
	open := e2etest.Invocation("waiting_probe", "test__probed", `{"text":"hello"}`)
	w.Start(open)
	r.waits(w, "waiting_probe", "timer", open)
	var probed []toolspec.Invocation
	for shape, c := range map[string][2]string{
		"probed_effect": {"test__probed", "effect"}, "probed_again": {"test__probed", "none"}, "probed_early": {"test__probed", "none"},
		"probed_late": {"test__probed", "late"}, "probed_fenced": {"test__fenced", "late"},
	} {
		inv := e2etest.Invocation(shape, c[0], `{"text":"hello","note":"`+c[1]+`"}`)
		w.Start(inv)
		probed = append(probed, inv)
	}
	for _, inv := range probed {
		e2etest.WantText(t, w.ResultOf(inv.Identity().WorkflowID(), ""), "hello")
		r.ended(w, inv.ToolCallID, inv)
	}
	open = e2etest.Invocation("waiting_parked", "test__send", `{"text":"hello"}`)
	w.Waiting(w.Start(open).WorkflowID)
	r.waits(w, "waiting_parked", "timer", open)
	for shape, verb := range map[string]toolspec.Verb{"parked_settled": toolspec.SettleOK, "parked_retried": toolspec.Retry} {
		inv := e2etest.Invocation(shape, "test__send", `{"text":"hello"}`)
		call := w.Start(inv)
		view := w.Waiting(call.WorkflowID)
		if answer := w.Decide(call.WorkflowID, toolspec.Decision{ApprovalID: view.ApprovalID, Decision: verb,
			Approver: "user:bob"}); !answer.Counted {
			t.Fatalf("%s did not count: %s", verb, answer.Reason)
		}
		if result := w.Result(call); !result.OK {
			t.Errorf("%s ended with %+v", shape, result)
		}
		r.ended(w, shape, inv)
	}
}

// doubtClaimed records calls of the claimed lane whose workflow task is lost while the tool runs inside it. The probe finds out what happened, or the call waits
// because the tool could still have its effect.
func (r *recorder) doubtClaimed(t *testing.T) {
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	plantWorkerKey(w)
	first := w.ServeInChild()
	open := e2etest.Invocation("waiting_claimed", "test__claimed", `{"text":"hello"}`)
	probed := e2etest.Invocation("probed_claimed", "test__claimed", `{"text":"hello","note":"effect"}`)
	for _, inv := range []toolspec.Invocation{open, probed} {
		w.Start(inv)
	}
	for _, inv := range []toolspec.Invocation{open, probed} {
		w.Until(func() bool { return len(w.Effects(w.Workspace+"/"+inv.ToolCallID)) >= 1 }, inv.ToolCallID+" runs")
	}
	e2etest.Kill(first)
	w.Work(worker.Tools(waitingTool("test__claimed", e2etest.Echo)))
	r.waits(w, "waiting_claimed", "timer", open)
	e2etest.WantText(t, w.ResultOf(probed.Identity().WorkflowID(), ""), "hello")
	r.ended(w, "probed_claimed", probed)
}

// hangInChild is a tool that writes a file with the name of its call, so that a test can end the process while the tool runs.
func hangInChild(ctx context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
	if err := e2etest.Enter(call.ToolCallID, os.Getpid()); err != nil {
		return e2etest.Out{}, err
	}
	<-ctx.Done()
	return e2etest.Out{}, ctx.Err()
}

// cached records reads whose value is cached, and reads that wait for the value of another call.
func (r *recorder) cached(t *testing.T) {
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	h := e2etest.NewHung()
	w.Work(worker.Tools(e2etest.Tool("test__read", e2etest.Echo, e2etest.Fast, kept),
		waitingTool("test__kept", h.Run)))
	first := e2etest.Invocation("cache_kept", "test__read", `{"text":"hello"}`)
	e2etest.WantText(t, w.Invoke(first), "hello")
	r.ended(w, "cache_kept", first)
	again := e2etest.Invocation("cache_found", "test__read", `{"text":"hello"}`)
	e2etest.WantText(t, w.Invoke(again), "hello")
	r.ended(w, "cache_found", again)

	reads := w.Start(e2etest.Invocation("reads", "test__kept", `{"text":"hello"}`))
	e2etest.Receive(t, h.Entered)
	inv := e2etest.Invocation("flight_joined", "test__kept", `{"text":"hello"}`)
	joins := w.Start(inv)
	w.Queued(joins)
	r.waits(w, "waiting_read", "timer", inv)
	close(h.Release)
	e2etest.WantText(t, w.Result(reads), "hello")
	e2etest.WantText(t, w.Result(joins), "hello")
	r.ended(w, "flight_joined", inv)
}
