package takeovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// slotStore is the store of a hook for the slots that it holds for calls.
type slotStore struct {
	mu   sync.Mutex
	held map[string]bool
	seen []string
}

func (d *slotStore) hold(_ context.Context, v *hook.Check) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held[v.InvocationID()] = true
	return nil
}

func (d *slotStore) release(_ context.Context, v *hook.Report) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.held, v.InvocationID())
	return nil
}

func (d *slotStore) see(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = append(d.seen, what)
}

// TestSweptCallReleases: the hooks of the closing stages run for a call whose workflow was terminated, on a worker that has them all. A slot that a hook holds
// for the call is released, even if other hooks fail, panic or never return.
func TestSweptCallReleases(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	d := &slotStore{held: map[string]bool{}}
	entered := make(chan string, 2)
	forever := make(chan struct{})
	defer close(forever)
	tools := worker.Tools(e2etest.Tool("test__send", func(ctx context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		entered <- call.ToolCallID
		<-ctx.Done()
		return e2etest.Out{}, ctx.Err()
	}, e2etest.Once))
	capacityHook := hook.New("seats", hook.WillAcquireQuota.Do(d.hold), hook.DidReleaseQuota.Do(d.release))
	others := hook.New("others",
		hook.OnError.Do(func(context.Context, *hook.Report) error { return errors.New("canary4711") }),
		hook.WillAudit.Do(func(_ context.Context, v *hook.Audit) error {
			v.Record("billed", map[string]string{"code": string(v.ErrorCode())})
			return nil
		}),
		hook.DidAudit.Do(func(_ context.Context, v *hook.Report) error {
			d.see("didAudit " + strings.Join(v.AuditIDs(), " "))
			return nil
		}),
		hook.OnMetrics.Do(func(context.Context, *hook.Report) error { panic("canary4711") }),
		hook.DidReleaseSemaphore.Do(func(context.Context, *hook.Report) error { <-forever; return nil }),
		hook.WillFinalizeInvoke.Do(func(_ context.Context, v *hook.Report) error {
			d.see("willFinalizeInvoke " + v.IdempotencyKey() + " " + string(v.ErrorCode()))
			return nil
		}),
	)
	stop := w.Work(tools, worker.Hooks(capacityHook, others))
	inv := e2etest.Invocation("send", "test__send", `{"text":"hello"}`)
	w.Start(inv)
	e2etest.Receive(t, entered)
	w.Terminate(inv)
	w.Closed(inv)
	due := func(tries int) {
		if n := len(e2etest.Query[int](w, fmt.Sprintf(`UPDATE endings SET due_at = now(), tries = %d RETURNING tries`, tries))); n != 1 {
			t.Fatalf("%d calls are left to end", n)
		}
	}
	if out := w.Sweep(); out.Calls.OutcomeUnknown != 1 || out.Calls.Ended != 0 || len(d.held) != 1 {
		t.Errorf("counted %+v while the tool may still run, held are %v", out.Calls, d.held)
	}
	// A worker without one of the hooks leaves the stage of this hook to another worker.
	stop()
	stop = w.Work(tools, worker.Hooks(others))
	due(1)
	if out := w.Sweep(); out.Calls.Ended != 0 || len(d.held) != 1 {
		t.Errorf("without the hook: counted %+v, held are %v", out.Calls, d.held)
	}
	stop()
	w.Work(tools, worker.Hooks(capacityHook, others))
	due(1)
	if out := w.Sweep(); out.Calls.Ended != 0 || len(d.held) != 1 {
		t.Errorf("a hook that does not return: counted %+v, held are %v", out.Calls, d.held)
	}
	// The next try gives the hook up. On a busy machine Temporal may take the activity for lost while the hook runs. A later sweep ends the call then.
	w.Until(func() bool {
		due(5)
		return w.Sweep().Calls.Ended == 1
	}, "a sweep ends the call")
	d.mu.Lock()
	defer d.mu.Unlock()
	id := inv.Identity().InvocationID()
	want := []string{"didAudit " + toolspec.AuditID(id, 1), "willFinalizeInvoke " + id + "/willFinalizeInvoke/others/1 outcome_unknown"}
	if len(d.held) != 0 || !slices.Equal(d.seen, want) {
		t.Errorf("held are %v, and the hooks saw %q, want %q", d.held, d.seen, want)
	}
	stages := strings.Join(e2etest.Query[string](w, `SELECT stage || ' ' || outcome || coalesce(' ' || (notes -> 0 ->> 'reason'), '') FROM stage_events ORDER BY seq`), ", ")
	if stages != "onError ok failed, willAudit ok, didAudit ok, onMetrics ok failed, didReleaseSemaphore timeout, didReleaseQuota ok, willFinalizeInvoke ok" {
		t.Errorf("recorded is %s", stages)
	}
	if got := e2etest.Query[string](w, `SELECT detail ->> 'code' FROM events WHERE kind = 'billed'`); !slices.Equal(got, []string{"outcome_unknown"}) {
		t.Errorf("billed is %q", got)
	}
	if w.Log.Has("canary4711") {
		t.Error("the log has the text of an error")
	}
}
