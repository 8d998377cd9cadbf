package e2etest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// onAll makes a hook that stands on all 32 stages. at decides what it does; nil goes on.
func onAll(name string, at func(s hook.Stage, view any) error) hook.Hook {
	if at == nil {
		at = func(hook.Stage, any) error { return nil }
	}
	return hook.New(name,
		on(hook.WillCreateInvokeContext, at), on(hook.DidCreateInvokeContext, at), on(hook.WillBindProviders, at), on(hook.WillAuthorize, at),
		on(hook.WillCheckConsent, at), on(hook.WillCheckFeatureFlags, at), on(hook.WillAcquireQuota, at), on(hook.WillAcquireSemaphore, at),
		on(hook.WillParseInput, at), on(hook.WillValidateInput, at), on(hook.WillNormalizeInput, at), on(hook.WillRedactInput, at),
		on(hook.WillInjectSecrets, at), on(hook.WillReadCache, at), on(hook.DidCacheHit, at), on(hook.DidCacheMiss, at), on(hook.OnRetry, at),
		hook.AroundExecute.Do(func(_ context.Context, v *hook.Around) error {
			if err := at(hook.AroundExecute.Stage(), v); err != nil {
				return err
			}
			_, err := v.Next()
			return err
		}),
		on(hook.WillExecute, at), on(hook.DidExecute, at), on(hook.OnGiveUp, at), on(hook.WillWriteCache, at), on(hook.WillRedactOutput, at),
		on(hook.WillValidateOutput, at), on(hook.WillTransformOutput, at), on(hook.OnError, at), on(hook.WillAudit, at), on(hook.DidAudit, at),
		on(hook.OnMetrics, at), on(hook.DidReleaseSemaphore, at), on(hook.DidReleaseQuota, at), on(hook.WillFinalizeInvoke, at))
}

func on[V any](p hook.Point[V], at func(hook.Stage, any) error) hook.Handler {
	return p.Do(func(_ context.Context, v V) error { return at(p.Stage(), v) })
}

// normalise changes the arguments, so that they are validated and judged again.
func normalise(s hook.Stage, view any) error {
	if v, ok := view.(*hook.Input); ok && s == hook.WillNormalizeInput.Stage() {
		v.SetArgs(in{Text: "normal"})
	}
	return nil
}

// cached finds a value and answers with it.
func cached(_ hook.Stage, view any) error {
	switch v := view.(type) {
	case *hook.Lookup:
		v.Found(out{Text: "cached"})
	case *hook.Cached:
		return v.Respond(v.Value())
	}
	return nil
}

// respond answers at the feature flags.
func respond(s hook.Stage, view any) error {
	if v, ok := view.(*hook.Check); ok && s == hook.WillCheckFeatureFlags.Stage() {
		return v.Respond(out{Text: "responded"})
	}
	return nil
}

// allStages records calls with a hook on every stage.
func (r *recorder) allStages(t *testing.T) {
	w := newWorld(t, plainPolicy)
	var runs ledger
	w.work(
		worker.Tools(
			waitingTool(allTool, func(ctx context.Context, in in, call toolspec.Call) (out, error) {
				if runs.add(call) == 1 {
					return out{}, toolspec.RetryAfter(time.Second, "not now")
				}
				return echo(ctx, in, call)
			}),
			tool("test__fail", func(context.Context, in, toolspec.Call) (out, error) { return out{}, errors.New("never") }, idempotent, attempts(2)),
			tool("test__cached", echo, fast), tool("test__responded", echo, fast), tool("test__durable", echo, fast),
		),
		worker.ToolHooks(allTool, onAll("all", normalise)), worker.ToolHooks("test__fail", onAll("fail", nil)),
		worker.ToolHooks("test__cached", onAll("cached", cached)), worker.ToolHooks("test__responded", onAll("responded", respond)),
		worker.ToolHooks("test__durable", hook.New("durable", hook.Durable(time.Minute),
			hook.WillAcquireQuota.Do(func(context.Context, *hook.Check) error { return nil }),
			hook.DidAudit.Do(func(context.Context, *hook.Report) error { return nil }))),
	)
	for shape, c := range map[string]struct{ toolID, text string }{
		"cache_hit": {"test__cached", "cached"}, "responded": {"test__responded", "responded"},
		"durable": {"test__durable", "hello"},
	} {
		inv := invocation(shape, c.toolID, `{"text":"hello"}`)
		wantText(t, w.invoke(inv), c.text)
		r.ended(w, shape, inv)
	}
	failing := invocation("all_stages_failing", "test__fail", `{}`)
	w.invoke(failing)
	r.ended(w, "all_stages_failing", failing)

	all := invocation("all_stages", allTool, `{"text":"hello"}`)
	call := w.start(all)
	w.approve(call.WorkflowID)
	wantText(t, w.result(call), "normal")
	r.ended(w, "all_stages", all)

	waiting := invocation("waiting_all_stages", allTool, `{"text":"hello"}`)
	w.start(waiting)
	r.waits(w, "waiting_all_stages", "timer", waiting)
}
