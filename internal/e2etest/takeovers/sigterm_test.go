package takeovers

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// stopTimeout is the longest time in which a worker may end. It needs ten seconds for running tools and five for the rest, and the limit is three times as
// long for a busy machine.
const stopTimeout = 45 * time.Second

// TestWorkerTerminated: a worker that gets SIGTERM while tools run in both lanes, some of which ignore the end of their context, ends with status 0 and in time.
// Another worker completes their calls.
func TestWorkerTerminated(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	first := w.ServeInChild()
	files, calls := map[string]string{}, map[string]*pawl.Call{}
	for name, c := range map[string]struct{ toolID, note string }{
		"write": {"test__write", "hang"}, "deaf-write": {"test__write", "deaf"}, "send": {"test__send", "hang"},
		"deaf-send": {"test__send", "deaf"}, "fast": {"test__fast", "hang"}, "deaf-fast": {"test__fast", "deaf"},
	} {
		files[name] = filepath.Join(t.TempDir(), "effects")
		calls[name] = w.Start(e2etest.Invocation(name, c.toolID, fmt.Sprintf(`{"text":%q,"note":%q}`, files[name], c.note)))
	}
	for _, file := range files {
		w.Until(func() bool { return len(w.Effects(file)) >= 1 }, "every tool runs")
	}
	began := time.Now()
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	second := w.ServeInChild()
	ended := make(chan error, 1)
	go func() { ended <- first.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the worker ended with %v, want in good order", err)
		}
	case <-time.After(stopTimeout):
		t.Fatalf("the worker still runs %s after SIGTERM", stopTimeout)
	}
	t.Logf("the worker took %s to end", time.Since(began).Round(100*time.Millisecond))

	by := func(name string) []string { return w.Effects(files[name]) }
	before, after := fmt.Sprint(first.Process.Pid), fmt.Sprint(second.Process.Pid)
	for _, name := range []string{"write", "deaf-write", "fast", "deaf-fast"} {
		e2etest.WantText(t, w.Result(calls[name]), "done")
		// An attempt in the local lane may exceed its time limit before its worker ends, and be repeated on the same worker.
		got, local := by(name), strings.HasSuffix(name, "fast")
		if len(got) < 2 || len(got) > 2 && !local || got[0] != before || got[1] != after && !local {
			t.Errorf("%s was run by %v, want by %s and %s", name, got, before, after)
		}
	}
	for _, name := range []string{"send", "deaf-send"} {
		r := w.Result(calls[name])
		e2etest.WantCode(t, r, toolspec.CodeOutcomeUnknown)
		if r.Details.Cause != string(contract.CauseStopped) || !slices.Equal(by(name), []string{before}) {
			t.Errorf("%s: the cause is %q and it was run by %v, want %s and %s", name, r.Details.Cause, by(name), contract.CauseStopped, before)
		}
	}
	for name, call := range calls {
		// The worker has given up its attempts itself, so no attempt ended because of missing heartbeats.
		if n := e2etest.CountEvents(w.History(call.WorkflowID, ""), enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT); n != 0 {
			t.Errorf("%s: the server gave up on %d attempts", name, n)
		}
		w.Replay(call.WorkflowID)
	}
}

// TestWorkerStopsWhileAStepWaits: a worker that stops gives up a step that waits for the database, and in the end cancels the step. That does not cancel the call,
// and another worker goes on with it.
func TestWorkerStopsWhileAStepWaits(t *testing.T) {
	t.Parallel()
	for _, place := range []string{inAdmit, inSettle} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			p := newPlaces(t)
			stop := p.work()
			inv := e2etest.Invocation("late", "test__send", `{"text":"hello"}`)
			h := p.hold(inv, place)
			call := p.w.Start(inv)
			h.there()
			stop()
			h.release()
			p.work()
			e2etest.WantText(t, p.w.Result(call), "hello")
			if record := p.w.Record(inv); record.Outcome != "ok" || p.effects.Of("late") != 1 {
				t.Errorf("the record ended %q after %d effects", record.Outcome, p.effects.Of("late"))
			}
		})
	}
}
