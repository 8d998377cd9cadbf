package e2etest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows"
)

// effects are the runs that childTools entered into a file.
func (w *world) effects(file string) []string {
	w.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// TestWorkerKilledInExecute: what may be repeated is done by the next worker, and what may not ends as unknown, with one effect.
func TestWorkerKilledInExecute(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	first := w.serveInChild()
	files := map[string]string{}
	results := map[string]func() toolspec.Result{}
	// In the local lane a tool has two seconds before it is tried again, here as well: it begins last.
	for _, toolID := range []string{"test__write", "test__send", "test__read", "test__fast"} {
		files[toolID] = filepath.Join(t.TempDir(), "effects")
		call := w.start(invocation(toolID, toolID, fmt.Sprintf(`{"text":%q,"note":"hang"}`, files[toolID])))
		results[toolID] = func() toolspec.Result { return w.result(call) }
		w.until(func() bool { return len(w.effects(files[toolID])) >= 1 }, toolID+" runs")
	}
	kill(first)
	second := w.serveInChild()

	// In the local lane nobody has heard of the first attempt.
	for toolID, attempts := range map[string]int{"test__write": 2, "test__read": 2, "test__fast": 1} {
		r := results[toolID]()
		wantText(t, r, "done")
		want := []string{fmt.Sprint(first.Process.Pid), fmt.Sprint(second.Process.Pid)}
		got := w.effects(files[toolID])
		// Unless that one ran out of time before its worker died: then the second is told of, and may have been made there.
		if late := []string{want[0], want[0]}; toolID == "test__fast" && r.Attempts == 2 && (slices.Equal(got, want) || slices.Equal(got, late)) {
			continue
		}
		if r.Attempts != attempts || !slices.Equal(got, want) {
			t.Errorf("%s: %d attempts, run by the processes %v; want %d, by %v", toolID, r.Attempts, got, attempts, want)
		}
	}
	r := results["test__send"]()
	wantCode(t, r, toolspec.CodeOutcomeUnknown)
	if got := w.effects(files["test__send"]); r.Attempts != 1 || r.Details.Cause == "" || len(got) != 1 {
		t.Errorf("test__send: %+v, run by %v; want one attempt, one effect and a cause", r, got)
	}
	for toolID := range files {
		w.replay(invocation(toolID, toolID, "").Identity().WorkflowID())
	}
}

// TestWorkerStoppedInExecute: a worker that is told to stop gives its tools a while, and another one takes over what they did not end.
func TestWorkerStoppedInExecute(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	entered := make(chan struct{}, 3)
	f := func(ctx context.Context, in in, call toolspec.Call) (out, error) {
		entered <- struct{}{}
		if effects.add(call) == 1 {
			<-ctx.Done()
			return out{}, ctx.Err()
		}
		return echo(ctx, in, call)
	}
	tools := worker.Tools(tool("test__write", f, idempotent), tool("test__send", f, once))
	stop := w.work(tools)
	write := w.start(invocation("write", "test__write", `{"text":"hello"}`))
	send := w.start(invocation("send", "test__send", `{"text":"hello"}`))
	receive(t, entered)
	receive(t, entered)
	stop()
	w.work(tools)
	wantText(t, w.result(write), "hello")
	lost := w.result(send)
	wantCode(t, lost, toolspec.CodeOutcomeUnknown)
	if lost.Details.Cause != string(workflows.CauseStopped) {
		t.Errorf("cause %q: nobody cancelled the call", lost.Details.Cause)
	}
	if effects.of("write") != 2 || effects.of("send") != 1 {
		t.Errorf("the tools ran %d and %d times, want 2 and 1", effects.of("write"), effects.of("send"))
	}
}

// TestWorkerKilledWhileWaiting: a call that waits for a person does not need its worker, and goes on at once on another.
func TestWorkerKilledWhileWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	// The server waits for the dead worker before it asks another: not for the five seconds that are usual. On a busy machine its own clock may be
	// late, but not every time.
	const most = 4 * time.Second
	var all []time.Duration
	for n := 0; n < 3 && (n == 0 || all[n-1] > most); n++ {
		all = append(all, w.killedWhileWaiting(fmt.Sprint("asked-", n)))
	}
	if all[len(all)-1] > most {
		t.Errorf("the dead worker was waited for for %s", all)
	}
}

// killedWhileWaiting returns for how long the server waits for the worker of a call that waits.
func (w *world) killedWhileWaiting(id string) (longest time.Duration) {
	t := w.t
	t.Helper()
	first := w.serveInChild()
	file := filepath.Join(t.TempDir(), "effects")
	call := w.start(invocation(id, "test__asked", fmt.Sprintf(`{"text":%q}`, file)))
	view := w.waiting(call.WorkflowID)
	kill(first)
	running := strings.Count(w.log.String(), "worker runs")
	second := w.serveInChild()
	defer kill(second)
	w.until(func() bool { return strings.Count(w.log.String(), "worker runs") > running }, "the second worker runs")
	// A signal, and no query before it: nothing else tells the server that the first worker is gone.
	if err := w.temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, approval(view.ApprovalID, ann)); err != nil {
		t.Fatal(err)
	}
	wantText(t, w.result(call), "done")
	var scheduled time.Time
	for _, e := range w.history(call.WorkflowID, "").GetEvents() {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED:
			scheduled = e.GetEventTime().AsTime()
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
			// A task that a worker had begun has five seconds, and may need them on a busy machine.
			begun := e.GetWorkflowTaskTimedOutEventAttributes().GetTimeoutType() != enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START
			if !begun {
				longest = max(longest, e.GetEventTime().AsTime().Sub(scheduled))
			}
		default:
		}
	}
	if got, want := w.effects(file), []string{fmt.Sprint(second.Process.Pid)}; !slices.Equal(got, want) {
		t.Errorf("the tool was run by %v, want %v", got, want)
	}
	return longest
}
