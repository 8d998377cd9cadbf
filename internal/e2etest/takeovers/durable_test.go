package takeovers

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/historytest"
)

// lastingTool is the tool to which dyingDurable belongs.
const lastingTool = "test__lasting"

// dyingDurable is dyingHook as a durable hook: it ends its process after its first effect.
func dyingDurable() hook.Hook {
	return hook.New("dying-durable", hook.Durable(time.Minute),
		hook.WillAcquireQuota.Do(func(_ context.Context, v *hook.Check) error { return dieOnce(v) }))
}

// lasting returns the options of a worker with a tool and a durable hook that runs before the tool.
func lasting(f func(ctx context.Context, v *hook.Check) error) []worker.Option {
	return []worker.Option{
		worker.Tools(e2etest.Tool("test__read", e2etest.Echo)),
		worker.Hooks(hook.New("lasting", hook.Durable(time.Minute), hook.WillAcquireQuota.Do(f))),
	}
}

// TestDurableHookKeyAfterACrash: the worker dies after the effect of a durable hook. The server notices that by missing heartbeats. Another worker repeats the
// effect under the same key, and the tool runs once.
func TestDurableHookKeyAfterACrash(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	call := repeatsHook(w, lastingTool, "/willAcquireQuota/dying-durable/1")
	h := w.History(call.WorkflowID, "")
	if got := e2etest.ActivityNames(h); !slices.Equal(got, []string{"willAcquireQuota", "execute"}) {
		t.Errorf("the regular activities are %v", got)
	}
	for _, m := range w.Markers(h) {
		if m[0] == "willAcquireQuota" {
			t.Error("the durable stage is a local activity too")
		}
	}
	w.Replay(call.WorkflowID)
}

// TestDurableHookTakesLong: a durable hook can run longer than the two seconds of a stage, the workflow task and the heartbeat timeout. The UI of Temporal shows
// the names of its stage and of the hook.
func TestDurableHookTakesLong(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	const long = 11 * time.Second
	runs := make(chan time.Time, 10)
	w.Work(lasting(func(ctx context.Context, _ *hook.Check) error {
		runs <- time.Now()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(long):
			return nil
		}
	})...)
	inv := e2etest.Invocation("long", "test__read", `{"text":"hello"}`)
	began := time.Now()
	e2etest.WantText(t, w.Invoke(inv), "hello")
	// Without heartbeats no run of the hook could end. On a busy machine four heartbeats in a row may be missed, and then the hook runs again.
	if took := time.Since(began); took < long || len(runs) == 0 {
		t.Errorf("the call took %s with %d runs of the hook", took, len(runs))
	}
	workflowID := inv.Identity().WorkflowID()
	for _, e := range w.History(workflowID, "").GetEvents() {
		if historytest.ActivityOf(e) == "willAcquireQuota" {
			if got := w.Summary(e.GetUserMetadata()); !strings.HasPrefix(got, "willAcquireQuota: ") || !strings.HasSuffix(got, "lasting") {
				t.Errorf("the UI shows %q", got)
			}
		}
	}
	w.Replay(workflowID)
}

// TestDurableHookCancelled: the cancellation of a call reaches a durable hook within a few heartbeats.
func TestDurableHookCancelled(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	reached, stopped := make(chan struct{}, 1), make(chan struct{}, 1)
	w.Work(lasting(func(ctx context.Context, _ *hook.Check) error {
		reached <- struct{}{}
		<-ctx.Done()
		stopped <- struct{}{}
		return ctx.Err()
	})...)
	call := w.Start(e2etest.Invocation("cancelled", "test__read", `{}`))
	e2etest.Receive(t, reached)
	began := time.Now()
	if err := w.Temporal.CancelWorkflow(t.Context(), call.WorkflowID, ""); err != nil {
		t.Fatal(err)
	}
	e2etest.Receive(t, stopped)
	if took := time.Since(began); took > 40*time.Second {
		t.Errorf("the cancel took %s to reach the hook", took)
	}
	if got := w.Result(call); got.ErrorCode != toolspec.CodeCancelled {
		t.Errorf("got %+v", got)
	}
	w.Replay(call.WorkflowID)
}

// TestDurableHookGoesElsewhere: when a worker stops, another worker runs its durable hook again under the same key. A worker without the hook leaves the call to
// a worker that has it.
func TestDurableHookGoesElsewhere(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	reached := make(chan string, 1)
	stop := w.Work(lasting(func(ctx context.Context, v *hook.Check) error {
		reached <- v.IdempotencyKey()
		<-ctx.Done()
		return ctx.Err()
	})...)
	call := w.Start(e2etest.Invocation("elsewhere", "test__read", `{"text":"hello"}`))
	key := e2etest.Receive(t, reached)
	without := w.Work(worker.Tools(e2etest.Tool("test__read", e2etest.Echo)))
	stop()
	w.Until(func() bool {
		lines := historytest.Outline(w.History(call.WorkflowID, ""))
		return slices.Contains(lines, "timer") && slices.Contains(lines, "activity willAcquireQuota")
	}, "the worker without the hook answers")
	keys := make(chan string, 10)
	w.Work(lasting(func(_ context.Context, v *hook.Check) error {
		keys <- v.IdempotencyKey()
		return nil
	})...)
	without()
	e2etest.WantText(t, w.Result(call), "hello")
	if again := e2etest.Receive(t, keys); again != key || !strings.HasSuffix(key, "/willAcquireQuota/lasting/1") {
		t.Errorf("the keys are %q and %q", key, again)
	}
	w.Replay(call.WorkflowID)
}

// TestDurableHookAfterARestore: the record of a call is lost with a restore, and a worker with another durable hook records the call again. The plan of the workflow is
// not the recorded one any more. The call waits until its deadline, and does not fill its history.
func TestDurableHookAfterARestore(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, strings.ReplaceAll(e2etest.PlainPolicy, "    mode: auto\n", "    mode: auto\n    budgets: {deadlineMs: 12000}\n"))
	reached := make(chan struct{}, 10)
	stop := w.Work(lasting(func(ctx context.Context, _ *hook.Check) error {
		reached <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})...)
	call := w.Start(e2etest.Invocation("restored", "test__read", `{"text":"hello"}`))
	e2etest.Receive(t, reached)
	stop()
	e2etest.Query[int](w, `DELETE FROM invocations`)
	passes := func(context.Context, *hook.Check) error { return nil }
	w.Work(append(lasting(passes), worker.Hooks(hook.New("later", hook.Durable(time.Minute), hook.WillAcquireQuota.Do(passes))))...)
	result := w.Result(call)
	w.BoundedHistory(call.WorkflowID, 150)
	e2etest.WantCode(t, result, toolspec.CodeUnavailable)
}
