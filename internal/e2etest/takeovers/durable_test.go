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

// lastingTool is the one that dyingDurable stands around.
const lastingTool = "test__lasting"

// dyingDurable is dyingHook as a durable one: it dies of its effect the first time.
func dyingDurable() hook.Hook {
	return hook.New("dying-durable", hook.Durable(time.Minute),
		hook.WillAcquireQuota.Do(func(_ context.Context, v *hook.Check) error { return dieOnce(v) }))
}

// lasting is a durable hook before the tool of a test.
func lasting(f func(ctx context.Context, v *hook.Check) error) []worker.Option {
	return []worker.Option{
		worker.Tools(e2etest.Tool("test__read", e2etest.Echo)),
		worker.Hooks(hook.New("lasting", hook.Durable(time.Minute), hook.WillAcquireQuota.Do(f))),
	}
}

// TestDurableHookKeyAfterACrash: the worker dies of the effect of a durable hook. The server notices by the heartbeats, another worker has
// the effect again under the same key, and the tool runs once.
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

// TestDurableHookTakesLong: a durable hook outlasts the two seconds of a stage, the workflow task and the heartbeat timeout. The UI shows
// it by the names of stage and hook.
func TestDurableHookTakesLong(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	const long = 11 * time.Second
	runs := make(chan time.Time, 10)
	w.Work(lasting(func(ctx context.Context, _ *hook.Check) error {
		runs <- time.Now()
		timer := time.NewTimer(long)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return nil
		}
	})...)
	inv := e2etest.Invocation("long", "test__read", `{"text":"hello"}`)
	began := time.Now()
	e2etest.WantText(t, w.Invoke(inv), "hello")
	// Without heartbeats no run would ever end. A busy machine may miss four of them in a row, and then the hook runs again.
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

// TestDurableHookCancelled: the cancel of a call reaches a durable hook within a few heartbeats.
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

// TestDurableHookGoesElsewhere: a worker that stops leaves its durable hook to another one, under the same key; one that lacks the hook
// leaves the call to one that has it.
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
