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

// stopTimeout is what a worker may take to end: ten seconds for what runs, five for the rest, and as much again and more for a machine
// under load.
const stopTimeout = 45 * time.Second

// TestWorkerTerminated: a worker that gets SIGTERM while tools run in both lanes, some of which do not listen, ends in good order and in
// time. Another one completes their calls.
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
		// A local attempt may run out of time before its worker ends, and be made again there.
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
		// The worker gave its attempts up itself: nobody had to miss a heartbeat.
		if n := e2etest.CountEvents(w.History(call.WorkflowID, ""), enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT); n != 0 {
			t.Errorf("%s: the server gave up on %d attempts", name, n)
		}
		w.Replay(call.WorkflowID)
	}
}

// TestWorkerStopsWhileAStepWaits: a worker that is told to stop gives up on a step that waits for the database, in the end by cancelling
// it. The call was not cancelled: another worker goes on with it.
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
