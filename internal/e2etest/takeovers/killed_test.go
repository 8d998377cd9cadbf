package takeovers

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestWorkerKilledInExecute: what may be repeated is done by the next worker, and what may not ends as unknown, with one effect.
func TestWorkerKilledInExecute(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	first := w.ServeInChild()
	files := map[string]string{}
	results := map[string]func() toolspec.Result{}
	// In the local lane a tool has two seconds before it is tried again, here as well: it begins last.
	for _, toolID := range []string{"test__write", "test__send", "test__read", "test__fast"} {
		files[toolID] = filepath.Join(t.TempDir(), "effects")
		call := w.Start(e2etest.Invocation(toolID, toolID, fmt.Sprintf(`{"text":%q,"note":"hang"}`, files[toolID])))
		results[toolID] = func() toolspec.Result { return w.Result(call) }
		w.Until(func() bool { return len(w.Effects(files[toolID])) >= 1 }, toolID+" runs")
	}
	e2etest.Kill(first)
	second := w.ServeInChild()

	// In the local lane nobody has heard of the first attempt.
	for toolID, attempts := range map[string]int{"test__write": 2, "test__read": 2, "test__fast": 1} {
		r := results[toolID]()
		e2etest.WantText(t, r, "done")
		want := []string{fmt.Sprint(first.Process.Pid), fmt.Sprint(second.Process.Pid)}
		got := w.Effects(files[toolID])
		// Unless that one ran out of time before its worker died: then the second is told of, and may have been made there.
		if late := []string{want[0], want[0]}; toolID == "test__fast" && r.Attempts == 2 &&
			(slices.Equal(got, want) || slices.Equal(got, late)) {
			continue
		}
		if r.Attempts != attempts || !slices.Equal(got, want) {
			t.Errorf("%s: %d attempts, run by the processes %v; want %d, by %v", toolID, r.Attempts, got, attempts, want)
		}
	}
	r := results["test__send"]()
	e2etest.WantCode(t, r, toolspec.CodeOutcomeUnknown)
	if got := w.Effects(files["test__send"]); r.Attempts != 1 || r.Details.Cause == "" || len(got) != 1 {
		t.Errorf("test__send: %+v, run by %v; want one attempt, one effect and a cause", r, got)
	}
	w.EventsOnce(len(files))
	for toolID := range files {
		w.Replay(e2etest.Invocation(toolID, toolID, "").Identity().WorkflowID())
	}
}

// TestWorkerStoppedInExecute: a worker that is told to stop gives its tools a while, and another one takes over what they did not end.
func TestWorkerStoppedInExecute(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	entered := make(chan struct{}, 3)
	f := func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		entered <- struct{}{}
		if effects.Add(call) == 1 {
			<-ctx.Done()
			return e2etest.Out{}, ctx.Err()
		}
		return e2etest.Echo(ctx, in, call)
	}
	tools := worker.Tools(e2etest.Tool("test__write", f, e2etest.Idempotent), e2etest.Tool("test__send", f, e2etest.Once))
	stop := w.Work(tools)
	write := w.Start(e2etest.Invocation("write", "test__write", `{"text":"hello"}`))
	send := w.Start(e2etest.Invocation("send", "test__send", `{"text":"hello"}`))
	e2etest.Receive(t, entered)
	e2etest.Receive(t, entered)
	stop()
	w.Work(tools)
	e2etest.WantText(t, w.Result(write), "hello")
	lost := w.Result(send)
	e2etest.WantCode(t, lost, toolspec.CodeOutcomeUnknown)
	if lost.Details.Cause != string(contract.CauseStopped) {
		t.Errorf("cause %q: nobody cancelled the call", lost.Details.Cause)
	}
	if effects.Of("write") != 2 || effects.Of("send") != 1 {
		t.Errorf("the tools ran %d and %d times, want 2 and 1", effects.Of("write"), effects.Of("send"))
	}
}

// TestWorkerKilledWhileWaiting: a call that waits for a person does not need its worker, and goes on at once on another.
func TestWorkerKilledWhileWaiting(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	// The server waits for the dead worker before it asks another: not for the five seconds that are usual. On a busy machine its own clock may be
	// late, but not every time.
	const most = 4 * time.Second
	var all []time.Duration
	for n := 0; n < 3 && (n == 0 || all[n-1] > most); n++ {
		all = append(all, killedWhileWaiting(w, fmt.Sprint("asked-", n)))
	}
	if all[len(all)-1] > most {
		t.Errorf("the dead worker was waited for for %s", all)
	}
}

// killedWhileWaiting returns for how long the server waits for the worker of a call that waits.
func killedWhileWaiting(w *e2etest.World, id string) (longest time.Duration) {
	t := w.T
	t.Helper()
	first := w.ServeInChild()
	file := filepath.Join(t.TempDir(), "effects")
	call := w.Start(e2etest.Invocation(id, "test__asked", fmt.Sprintf(`{"text":%q}`, file)))
	view := w.Waiting(call.WorkflowID)
	e2etest.Kill(first)
	running := strings.Count(w.Log.String(), "worker runs")
	second := w.ServeInChild()
	defer e2etest.Kill(second)
	w.Until(func() bool { return strings.Count(w.Log.String(), "worker runs") > running }, "the second worker runs")
	// A signal, and no query before it: nothing else tells the server that the first worker is gone.
	if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName,
		e2etest.Approving(view.ApprovalID, e2etest.Ann)); err != nil {
		t.Fatal(err)
	}
	e2etest.WantText(t, w.Result(call), "done")
	var scheduled time.Time
	for _, e := range w.History(call.WorkflowID, "").GetEvents() {
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
	if got, want := w.Effects(file), []string{fmt.Sprint(second.Process.Pid)}; !slices.Equal(got, want) {
		t.Errorf("the tool was run by %v, want %v", got, want)
	}
	return longest
}
