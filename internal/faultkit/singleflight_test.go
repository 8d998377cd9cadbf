//go:build unix

package faultkit_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/faultkit/failpoint"
	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/point"
	"github.com/pawl-run/pawl/toolspec"
)

// keptRules caches the values of all tools.
const keptRules = `
version: 1
tenants:
  acme:
    allowedTools: ["chaos__*"]
    mode: auto
    cache: [{tool: "chaos__*", for: 10m}]
`

// while returns the milliseconds that a read works after its effect. In the local lane it must be below two seconds, after which the
// attempt is repeated.
func while(tool string, local, regular int) int {
	if tool == ledger.LocalRead {
		return local
	}
	return regular
}

// few is the number of readers where the number is not the subject: each costs a workflow.
const few = 20

// read starts calls of one read at the same time, and calls meanwhile when the tool runs.
func (w *world) read(readers int, tool string, in ledger.In, meanwhile func(first ledger.Effect)) []*pawl.Call {
	w.t.Helper()
	before := len(w.ledger.Effects())
	calls := make([]*pawl.Call, readers)
	var starting sync.WaitGroup
	for i := range calls {
		starting.Go(func() {
			call, err := w.pawl.Start(w.t.Context(), invocation(fmt.Sprintf("%s-%03d", tool, i), tool, in))
			if err != nil {
				w.t.Error(err)
			}
			calls[i] = call
		})
	}
	w.until(func() bool { return len(w.ledger.Effects()) > before }, "the tool runs")
	meanwhile(w.ledger.Effects()[before])
	starting.Wait()
	if w.t.Failed() {
		w.t.FailNow()
	}
	return calls
}

// sources waits for all calls except those in but. It returns the number of values by source, and the maximum number of effects that lost
// attempts explain. A stalled machine loses attempts, and in the local lane whole workflow tasks that no result counts. A call that loses
// its single-flight lease ends with the value of another call. A call that ends without the value fails the test.
func (w *world) sources(calls []*pawl.Call, text string, but ...string) (from map[toolspec.Source]int, most int) {
	w.t.Helper()
	var mu sync.Mutex
	from = map[toolspec.Source]int{}
	attempts := map[string]int{} // attempts of the calls that ran the tool, by workflow id
	calls = slices.DeleteFunc(slices.Clone(calls), func(c *pawl.Call) bool { return slices.Contains(but, c.WorkflowID) })
	var waiting sync.WaitGroup
	for _, call := range calls {
		waiting.Go(func() {
			r, err := w.ended(call, 2*waitTimeout)
			if err != nil || !r.OK || string(r.Value) != fmt.Sprintf(`{"text":%q}`, text) {
				w.t.Errorf("%s ended with %+v, %v", call.WorkflowID, r, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if from[r.Source]++; r.Source == toolspec.SourceExecuted {
				attempts[call.WorkflowID] = r.Attempts
			}
		})
	}
	waiting.Wait()
	for _, call := range calls {
		if len(w.ledger.Of(call.InvocationID)) > 0 {
			lost := tasksOf(w.history(call.WorkflowID))
			most += max(attempts[call.WorkflowID], lost.lostAttempts) + lost.lostTasks
		}
	}
	return from, most
}

// oneRead checks the sources of the values of calls that began to read at a time: one call ran the tool, and all others took its value.
// A call that has no value after the timeout of its tool, 20 s, has lost its single-flight lease: on a slow machine another call then runs
// the tool too.
func oneRead(from map[toolspec.Source]int, calls int, began time.Time) bool {
	executed := from[toolspec.SourceExecuted]
	return executed+from[toolspec.SourceCache] == calls && (executed == 1 || executed > 1 && time.Since(began) > 20*time.Second)
}

// leases returns the number of rows of leases: held and waiting.
func (w *world) leases() (n int) {
	w.t.Helper()
	if err := w.queries.QueryRow(w.t.Context(), `SELECT count(*) FROM leases`).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// TestOneReadForAHundred: a hundred calls read one value at the same time on two workers, and few do so in the regular lane. The tool runs once,
// and all calls get the value (fault 38).
func TestOneReadForAHundred(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(keptRules)
	w.work(healthy).runs()
	w.work(healthy).runs()
	for tool, readers := range map[string]int{ledger.LocalRead: 100, ledger.Read: few} {
		before := len(w.ledger.Effects())
		began := time.Now()
		calls := w.read(readers, tool, ledger.In{Text: tool, AfterMs: while(tool, 500, 1500)}, func(ledger.Effect) {})
		from, most := w.sources(calls, tool)
		effects := len(w.ledger.Effects()) - before
		if effects < 1 || effects > most || !oneRead(from, len(calls), began) {
			t.Errorf("%s: %d effects, want at most %d; values by source %v", tool, effects, most, from)
		}
	}
	if left := w.leases(); left != 0 {
		t.Errorf("%d leases are left", left)
	}
}

// TestReaderKilled: the worker of the call that runs the tool is killed. The call continues on another worker, and all calls get the value.
func TestReaderKilled(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{ledger.LocalRead, ledger.Read} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.apply(keptRules)
			doomed := w.work(failpoint.Plan{At: point.EffectAfter, Nth: 1, By: failpoint.Kill}).runs()
			var began time.Time
			calls := w.read(few, tool, ledger.In{Text: "x", AfterMs: while(tool, 500, 1500)}, func(ledger.Effect) {
				began = time.Now()
				doomed.crashed()
				w.work(healthy)
				w.work(healthy)
			})
			from, most := w.sources(calls, "x")
			if effects := len(w.ledger.Effects()); effects < 2 || effects > most || !oneRead(from, len(calls), began) {
				t.Errorf("%d effects, want at most %d; values by source %v", effects, most, from)
			}
		})
	}
}

// TestReaderTerminated: the workflow of the call that runs the tool is terminated. The sweeper, or the end of its single-flight lease, lets
// another call run the tool.
func TestReaderTerminated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(keptRules)
	w.work(healthy, "PAWL_SWEEP_EVERY=5s").runs()
	w.work(healthy, "PAWL_SWEEP_EVERY=5s").runs()
	ended := ""
	killed := ""
	release := w.ledger.Hold() // the tool still runs when its workflow is terminated
	began := time.Now()
	calls := w.read(few, ledger.Read, ledger.In{Text: "x"}, func(first ledger.Effect) {
		defer release()
		killed = first.InvocationID
		ended = invocation(first.ToolCallID, ledger.Read, ledger.In{}).Identity().WorkflowID()
		if err := w.temporal.TerminateWorkflow(t.Context(), ended, "", "test"); err != nil {
			t.Fatal(err)
		}
	})
	from, most := w.sources(calls, "x", ended)
	effects := len(w.ledger.Effects()) - len(w.ledger.Of(killed))
	if effects < 1 || effects > most || !oneRead(from, len(calls)-1, began) {
		t.Errorf("%d effects, want at most %d; values by source %v", effects, most, from)
	}
	w.until(func() bool { return w.leases() == 0 }, "no lease is left over")
}
