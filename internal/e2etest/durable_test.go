package e2etest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/historytest"
)

// lastingTool is the one that dyingDurable stands around.
const lastingTool = "test__lasting"

// dyingDurable is dyingHook as a durable one: it dies of its effect the first time.
func dyingDurable() hook.Hook {
	return hook.New("dying-durable", hook.Durable(time.Minute), hook.WillAcquireQuota.Do(func(_ context.Context, v *hook.Check) error { return dieOnce(v) }))
}

// lasting is a durable hook before the tool of a test.
func lasting(f func(ctx context.Context, v *hook.Check) error) []worker.Option {
	return []worker.Option{
		worker.Tools(tool("test__read", echo)),
		worker.Hooks(hook.New("lasting", hook.Durable(time.Minute), hook.WillAcquireQuota.Do(f))),
	}
}

// TestDurableHookKeyAfterACrash: the worker dies of the effect of a durable hook. The server notices by the heartbeats, another worker has
// the effect again under the same key, and the tool runs once.
func TestDurableHookKeyAfterACrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	first := w.serveInChild()
	file := filepath.Join(t.TempDir(), "effects")
	call := w.start(invocation("lasting", lastingTool, fmt.Sprintf(`{"text":%q}`, file)))
	w.dies(first)
	w.serveInChild()
	wantText(t, w.result(call), "done")
	keys := w.effects(file + ".hook")
	// On a busy machine the second worker may need another attempt.
	if len(keys) < 2 || len(slices.Compact(slices.Clone(keys))) != 1 || keys[0] != call.InvocationID+"/willAcquireQuota/dying-durable/1" {
		t.Errorf("the hook's effects are keyed %q, want one key at least twice", keys)
	}
	if runs := w.effects(file); len(runs) != 1 {
		t.Errorf("the tool was run by %v, want once", runs)
	}
	h := w.history(call.WorkflowID, "")
	if got := activities(h); !slices.Equal(got, []string{"willAcquireQuota", "execute"}) {
		t.Errorf("the regular activities are %v", got)
	}
	for _, m := range w.markers(h) {
		if m.name == "willAcquireQuota" {
			t.Error("the durable stage is a local activity too")
		}
	}
	w.replay(call.WorkflowID)
}

// TestDurableHookTakesLong: a durable hook outlasts the two seconds of a stage, the workflow task and the heartbeat timeout. The UI shows
// it by the names of stage and hook.
func TestDurableHookTakesLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	const long = 11 * time.Second
	runs := make(chan time.Time, 10)
	w.work(lasting(func(ctx context.Context, _ *hook.Check) error {
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
	inv := invocation("long", "test__read", `{"text":"hello"}`)
	began := time.Now()
	wantText(t, w.invoke(inv), "hello")
	// Without heartbeats no run would ever end. A busy machine may miss four of them in a row, and then the hook runs again.
	if took := time.Since(began); took < long || len(runs) == 0 {
		t.Errorf("the call took %s with %d runs of the hook", took, len(runs))
	}
	workflowID := inv.Identity().WorkflowID()
	for _, e := range w.history(workflowID, "").GetEvents() {
		if historytest.ActivityOf(e) == "willAcquireQuota" {
			if got := w.summary(e.GetUserMetadata()); !strings.HasPrefix(got, "willAcquireQuota: ") || !strings.HasSuffix(got, "lasting") {
				t.Errorf("the UI shows %q", got)
			}
		}
	}
	w.replay(workflowID)
}

// TestDurableHookCancelled: the cancel of a call reaches a durable hook within a few heartbeats.
func TestDurableHookCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	reached, stopped := make(chan struct{}, 1), make(chan struct{}, 1)
	w.work(lasting(func(ctx context.Context, _ *hook.Check) error {
		reached <- struct{}{}
		<-ctx.Done()
		stopped <- struct{}{}
		return ctx.Err()
	})...)
	call := w.start(invocation("cancelled", "test__read", `{}`))
	receive(t, reached)
	began := time.Now()
	if err := w.temporal.CancelWorkflow(t.Context(), call.WorkflowID, ""); err != nil {
		t.Fatal(err)
	}
	receive(t, stopped)
	if took := time.Since(began); took > 40*time.Second {
		t.Errorf("the cancel took %s to reach the hook", took)
	}
	if got := w.result(call); got.ErrorCode != toolspec.CodeCancelled {
		t.Errorf("got %+v", got)
	}
	w.replay(call.WorkflowID)
}

// TestDurableHookGoesElsewhere: a worker that stops leaves its durable hook to another one, under the same key; one that lacks the hook
// leaves the call to one that has it.
func TestDurableHookGoesElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	reached := make(chan string, 1)
	stop := w.work(lasting(func(ctx context.Context, v *hook.Check) error {
		reached <- v.IdempotencyKey()
		<-ctx.Done()
		return ctx.Err()
	})...)
	call := w.start(invocation("elsewhere", "test__read", `{"text":"hello"}`))
	key := receive(t, reached)
	without := w.work(worker.Tools(tool("test__read", echo)))
	stop()
	w.until(func() bool {
		lines := historytest.Outline(w.history(call.WorkflowID, ""))
		return slices.Contains(lines, "timer") && slices.Contains(lines, "activity willAcquireQuota")
	}, "the worker without the hook answers")
	keys := make(chan string, 10)
	w.work(lasting(func(_ context.Context, v *hook.Check) error {
		keys <- v.IdempotencyKey()
		return nil
	})...)
	without()
	wantText(t, w.result(call), "hello")
	if again := receive(t, keys); again != key || !strings.HasSuffix(key, "/willAcquireQuota/lasting/1") {
		t.Errorf("the keys are %q and %q", key, again)
	}
	w.replay(call.WorkflowID)
}
