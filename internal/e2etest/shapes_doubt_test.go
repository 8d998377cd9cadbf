package e2etest

import (
	"context"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// doubt records calls that lose an attempt which must not be repeated: the probe knows, a person decides, or is waited for.
func (r *recorder) doubt(t *testing.T) {
	w := newWorld(t, parkingPolicy)
	// Long enough for the second attempt on a busy machine.
	brief := within(3 * time.Second)
	def := tool("test__probed", nil, once, brief).Definition()
	def.MaxAttempts = 3
	hangs := func(ctx context.Context, in in, call toolspec.Call) (out, error) {
		if call.Attempt == 1 {
			<-ctx.Done()
			return out{}, ctx.Err()
		}
		return echo(ctx, in, call)
	}
	w.work(worker.Tools(tool("test__send", hangs, once, brief),
		toolspec.DefineWithProbe(def, hangs, func(_ context.Context, in in, _ toolspec.Call) (toolspec.Found[out], error) {
			if in.Note == "effect" {
				return toolspec.FoundEffect(out{Text: in.Text}), nil
			}
			return toolspec.FoundNoEffect[out](), nil
		})))
	for shape, note := range map[string]string{"probed_effect": "effect", "probed_again": "none"} {
		inv := invocation(shape, "test__probed", `{"text":"hello","note":"`+note+`"}`)
		wantText(t, w.invoke(inv), "hello")
		r.ended(w, shape, inv)
	}
	open := invocation("waiting_parked", "test__send", `{"text":"hello"}`)
	w.waiting(w.start(open).WorkflowID)
	r.waits(w, "waiting_parked", "timer", open)
	for shape, verb := range map[string]toolspec.Verb{"parked_settled": toolspec.SettleOK, "parked_retried": toolspec.Retry} {
		inv := invocation(shape, "test__send", `{"text":"hello"}`)
		call := w.start(inv)
		view := w.waiting(call.WorkflowID)
		if answer := w.decide(call.WorkflowID, toolspec.Decision{ApprovalID: view.ApprovalID, Decision: verb, Approver: "user:bob"}); !answer.Counted {
			t.Fatalf("%s did not count: %s", verb, answer.Reason)
		}
		if result := w.result(call); !result.OK {
			t.Errorf("%s ended with %+v", shape, result)
		}
		r.ended(w, shape, inv)
	}
}

// cached records reads that are kept, and that wait for another to read.
func (r *recorder) cached(t *testing.T) {
	w := newWorld(t, plainPolicy)
	h := newHung()
	kept := func(d *toolspec.Definition) { d.CacheFor = time.Hour }
	w.work(worker.Tools(tool("test__read", echo, fast, kept), tool("test__slow", h.run, kept, within(2*time.Minute))))
	first := invocation("cache_kept", "test__read", `{"text":"hello"}`)
	wantText(t, w.invoke(first), "hello")
	r.ended(w, "cache_kept", first)
	again := invocation("cache_found", "test__read", `{"text":"hello"}`)
	wantText(t, w.invoke(again), "hello")
	r.ended(w, "cache_found", again)

	reads := w.start(invocation("reads", "test__slow", `{"text":"hello"}`))
	receive(t, h.entered)
	inv := invocation("flight_joined", "test__slow", `{"text":"hello"}`)
	joins := w.start(inv)
	w.queued(joins)
	close(h.release)
	wantText(t, w.result(reads), "hello")
	wantText(t, w.result(joins), "hello")
	r.ended(w, "flight_joined", inv)
}
