package activities_test

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// executions runs attempts at the same time, and has the outcome and the time of each attempt.
type executions struct {
	outs  []contract.ExecuteOut
	times []time.Duration
}

func (e *executions) run(t *testing.T, w *world, in contract.ExecuteIn, n int) {
	began := time.Now()
	done := make(chan contract.ExecuteOut, n)
	for range n {
		go func() {
			out, err := w.Execute(t.Context(), in)
			if err != nil {
				t.Error(err)
			}
			done <- out
		}()
	}
	for range n {
		out := <-done
		out.DurationUs, out.Trace, out.ClaimID = 0, nil, ""
		e.outs, e.times = append(e.outs, out), append(e.times, time.Since(began))
	}
}

// texts returns the outcomes with their times, in the order in which the attempts ended.
func (e *executions) texts() (all []string) {
	for i, out := range e.outs {
		all = append(all, fmt.Sprint(out.Outcome, " ", e.times[i]))
	}
	return all
}

// TestHeavyTools: the number of heavy tools that run at the same time is the number of processors minus one.
// The other attempts wait in turn, for at most half of their time, and then say that nothing happened.
func TestHeavyTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 2 * time.Second
		at := max(1, runtime.GOMAXPROCS(0)-1)
		var inside, highest atomic.Int64
		w := newWorld(t, setup{
			def: func(d *toolspec.Definition) { d.Heavy, d.Effect, d.Risk = true, toolspec.ReadOnly, toolspec.LowRisk },
			run: func(context.Context, in, toolspec.Call) (any, error) {
				if n := inside.Add(1); n > highest.Load() {
					highest.Store(n)
				}
				defer inside.Add(-1)
				pass(takes)
				return out{Text: "found"}, nil
			},
		})
		var e executions
		e.run(t, w, w.executeIn(), 4*at) // each has 10 s
		busy := contract.ExecuteOut{
			Outcome: contract.Refused, Retryable: true, NothingHappened: true,
			Failure: &hook.Failure{Code: "rate_limited", RetryAfterMs: 5000,
				SafeMessage: "Error executing tool: the worker is busy with other calls that need much of a processor: try again later, with fewer at once"},
		}
		for i, out := range e.outs {
			// 3 turns begin within 5 s: at 0 s, 2 s and 4 s. Attempts without a turn give up after 5 s, before the third
			// turn ends.
			turn, took := i/at, e.times[i]
			switch {
			case turn < 2 && (out.Outcome != contract.Done || took != time.Duration(turn+1)*takes),
				turn == 2 && (!reflect.DeepEqual(out, busy) || took != 5*time.Second),
				turn == 3 && (out.Outcome != contract.Done || took != 3*takes):
				t.Errorf("%d: %+v after %s", i, out, took)
			}
		}
		if highest.Load() != int64(at) {
			t.Errorf("%d ran at once, want %d", highest.Load(), at)
		}
	})
}

// TestHeavyToolLeftBehind: a heavy tool that does not stop in time still counts, because it still uses a
// processor.
func TestHeavyToolLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := max(1, runtime.GOMAXPROCS(0)-1)
		w := newWorld(t, setup{
			def: func(d *toolspec.Definition) { d.Heavy = true },
			run: func(context.Context, in, toolspec.Call) (any, error) { pass(15 * time.Second); return out{}, nil },
		})
		var e executions
		e.run(t, w, w.executeIn(), at)
		for i, out := range e.outs {
			if out.Outcome != contract.Interrupted || e.times[i] != 11*time.Second {
				t.Errorf("%+v after %s", out, e.times[i])
			}
		}
		e = executions{}
		e.run(t, w, w.executeIn(), 1) // four seconds later there is a processor, and the tool takes too long again
		pass(time.Minute)             // until all have ended
		if w.runs != at+1 || e.outs[0].Outcome != contract.Interrupted {
			t.Errorf("%d ran: %+v", w.runs, e.outs)
		}
	})
}

// TestLocalLaneOfATenant: the tools of one tenant have a share of the local lane. A further attempt waits a
// moment, and then ends as not begun. Other tenants and the regular lane are not affected.
func TestLocalLaneOfATenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{
			config: activities.Config{LocalTools: 3},
			run:    func(context.Context, in, toolspec.Call) (any, error) { pass(2 * time.Second); return out{}, nil },
		})
		local := w.executeIn()
		local.Dispatch = 0
		other := local
		other.Facts.Context.TenantID = "globex"
		var mine, others, regular executions
		done := make(chan struct{}, 2)
		go func() { others.run(t, w, other, 3); done <- struct{}{} }()
		go func() { regular.run(t, w, w.executeIn(), 5); done <- struct{}{} }()
		mine.run(t, w, local, 5)
		<-done
		<-done
		late, ran := "undispatched 100ms", "done 2s"
		for name, c := range map[string]struct {
			got  executions
			want []string
		}{
			"the tenant":       {mine, []string{late, late, ran, ran, ran}},
			"another tenant":   {others, []string{ran, ran, ran}},
			"the regular lane": {regular, []string{ran, ran, ran, ran, ran}},
		} {
			if got := c.got.texts(); !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
	})
	// A waiting call takes the room of a call that ends.
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{
			config: activities.Config{LocalTools: 1},
			run:    func(context.Context, in, toolspec.Call) (any, error) { pass(30 * time.Millisecond); return out{}, nil },
		})
		in := w.executeIn()
		in.Dispatch = 0
		var e executions
		e.run(t, w, in, 6)
		if got, want := e.texts(), []string{"done 30ms", "done 60ms", "done 90ms", "undispatched 100ms", "undispatched 100ms", "done 120ms"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}
