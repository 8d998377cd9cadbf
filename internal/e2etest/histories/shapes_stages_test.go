package histories

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// onAll makes a hook that handles all 32 stages. at is called at each stage, and a nil at does nothing.
func onAll(name string, at func(s hook.Stage, view any) error) hook.Hook {
	if at == nil {
		at = func(hook.Stage, any) error { return nil }
	}
	return hook.New(name,
		e2etest.On(hook.WillCreateInvokeContext, at), e2etest.On(hook.DidCreateInvokeContext, at), e2etest.On(hook.WillBindProviders, at),
		e2etest.On(hook.WillAuthorize, at),
		e2etest.On(hook.WillCheckConsent, at), e2etest.On(hook.WillCheckFeatureFlags, at), e2etest.On(hook.WillAcquireQuota, at),
		e2etest.On(hook.WillAcquireSemaphore, at),
		e2etest.On(hook.WillParseInput, at), e2etest.On(hook.WillValidateInput, at), e2etest.On(hook.WillNormalizeInput, at),
		e2etest.On(hook.WillRedactInput, at),
		e2etest.On(hook.WillInjectSecrets, at), e2etest.On(hook.WillReadCache, at), e2etest.On(hook.DidCacheHit, at),
		e2etest.On(hook.DidCacheMiss, at), e2etest.On(hook.OnRetry, at),
		hook.AroundExecute.Do(func(_ context.Context, v *hook.Around) error {
			if err := at(hook.AroundExecute.Stage(), v); err != nil {
				return err
			}
			_, err := v.Next()
			return err
		}),
		e2etest.On(hook.WillExecute, at), e2etest.On(hook.DidExecute, at), e2etest.On(hook.OnGiveUp, at), e2etest.On(hook.WillWriteCache, at),
		e2etest.On(hook.WillRedactOutput, at),
		e2etest.On(hook.WillValidateOutput, at), e2etest.On(hook.WillTransformOutput, at), e2etest.On(hook.OnError, at),
		e2etest.On(hook.WillAudit, at), e2etest.On(hook.DidAudit, at),
		e2etest.On(hook.OnMetrics, at), e2etest.On(hook.DidReleaseSemaphore, at), e2etest.On(hook.DidReleaseQuota, at),
		e2etest.On(hook.WillFinalizeInvoke, at))
}

// normalise changes the arguments, so that they are validated and judged again.
func normalise(s hook.Stage, view any) error {
	if v, ok := view.(*hook.Input); ok && s == hook.WillNormalizeInput.Stage() {
		v.SetArgs(e2etest.In{Text: "normal"})
	}
	return nil
}

// cached is a function for onAll that finds a value in a cache and answers with it.
func cached(_ hook.Stage, view any) error {
	switch v := view.(type) {
	case *hook.Lookup:
		v.Found(e2etest.Out{Text: "cached"})
	case *hook.Cached:
		return v.Respond(v.Value())
	}
	return nil
}

// respond is a function for onAll that answers the call at the stage willCheckFeatureFlags.
func respond(s hook.Stage, view any) error {
	if v, ok := view.(*hook.Check); ok && s == hook.WillCheckFeatureFlags.Stage() {
		return v.Respond(e2etest.Out{Text: "responded"})
	}
	return nil
}

// nameAnn is a function for onAll that requires an approval of Ann.
func nameAnn(_ hook.Stage, view any) error {
	if v, ok := view.(*hook.Consent); ok && !v.Approved() {
		return v.RequireApproval(hook.Ask{Approvals: &hook.Approvals{Approvers: []string{e2etest.Ann}}})
	}
	return nil
}

// later returns a hook that delays a call until d after its start.
func later(d time.Duration) hook.Hook {
	return hook.New("later", hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error { return v.WaitUntil(v.StartedAt().Add(d), "closed") }))
}

// allStages records calls with a hook on every stage.
func (r *recorder) allStages(t *testing.T) {
	w := e2etest.NewWorld(t, e2etest.PlainPolicyWith(t, "mode: auto", "mode: auto\n    limits: [{tool: test__limited, quota: {tokens: 100, every: 1h}}]"))
	var runs e2etest.Ledger
	lasts := func(name string) hook.Hook {
		return hook.New(name, hook.Durable(time.Minute),
			hook.WillAcquireQuota.Do(func(context.Context, *hook.Check) error { return nil }),
			hook.DidAudit.Do(func(context.Context, *hook.Report) error { return nil }))
	}
	w.Work(
		worker.Tools(
			waitingTool(allTool, func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
				if runs.Add(call) == 1 {
					return e2etest.Out{}, toolspec.RetryAfter(time.Second, "not now")
				}
				return e2etest.Echo(ctx, in, call)
			}),
			e2etest.Tool("test__fail", func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
				return e2etest.Out{}, errors.New("never")
			}, e2etest.Idempotent, e2etest.Attempts(2)),
			e2etest.Tool("test__cached", e2etest.Echo, e2etest.Fast), e2etest.Tool("test__responded", e2etest.Echo, e2etest.Fast),
			e2etest.Tool("test__named", e2etest.Echo, e2etest.Idempotent, e2etest.Risky), e2etest.Tool("test__durable", e2etest.Echo, e2etest.Fast), e2etest.Tool("test__limited", e2etest.Echo, e2etest.Fast),
			e2etest.Tool("test__later", e2etest.Echo, e2etest.Fast),
		),
		worker.ToolHooks(allTool, onAll("all", normalise)), worker.ToolHooks("test__fail", onAll("fail", nil)),
		worker.ToolHooks("test__cached", onAll("cached", cached)), worker.ToolHooks("test__responded", onAll("responded", respond)),
		worker.ToolHooks("test__named", hook.New("named", hook.NamesApprovers(), e2etest.On(hook.WillCheckConsent, nameAnn))),
		worker.ToolHooks("test__durable", lasts("durable")), worker.ToolHooks("test__limited", lasts("limited")),
		worker.ToolHooks("test__later", later(2*time.Second)),
	)
	for shape, c := range map[string]struct{ toolID, text string }{
		"cache_hit": {"test__cached", "cached"}, "responded": {"test__responded", "responded"},
		"durable": {"test__durable", "hello"}, "durable_own": {"test__limited", "hello"},
		"waited_until": {"test__later", "hello"},
	} {
		inv := e2etest.Invocation(shape, c.toolID, `{"text":"hello"}`)
		e2etest.WantText(t, w.Invoke(inv), c.text)
		r.ended(w, shape, inv)
	}
	failing := e2etest.Invocation("all_stages_failing", "test__fail", `{}`)
	w.Invoke(failing)
	r.ended(w, "all_stages_failing", failing)

	all := e2etest.Invocation("all_stages", allTool, `{"text":"hello"}`)
	call := w.Start(all)
	w.Approve(call.WorkflowID)
	e2etest.WantText(t, w.Result(call), "normal")
	r.ended(w, "all_stages", all)

	named := e2etest.Invocation("named_then_approved", "test__named", `{"text":"hello"}`)
	call = w.Start(named)
	view := w.Waiting(call.WorkflowID)
	if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.RecheckName, nil); err != nil {
		t.Fatal(err)
	}
	// A decision that arrived in the same workflow task would be reviewed before the recheck.
	shows(w, named, "local willCheckConsent", 3)
	if answer := w.Decide(call.WorkflowID, e2etest.Approving(view.ApprovalID, e2etest.Ben)); answer.Reason != "the request now waits for "+e2etest.Ann {
		t.Errorf("the first approver hears %+v", answer)
	}
	w.WantAnswer(call, e2etest.Approving(view.ApprovalID, e2etest.Ann), "")
	e2etest.WantText(t, w.Result(call), "hello")
	r.ended(w, "named_then_approved", named)

	waiting := e2etest.Invocation("waiting_all_stages", allTool, `{"text":"hello"}`)
	w.Start(waiting)
	r.waits(w, "waiting_all_stages", "timer", waiting)
}
