package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// durableStages returns the options of a durable hook that calls f at every stage at which a durable hook may run.
func durableStages(f func(ctx context.Context, s hook.Stage, view any) error) []hook.Option {
	return []hook.Option{
		hook.Durable(time.Minute),
		lasting(hook.WillCreateInvokeContext, f), lasting(hook.DidCreateInvokeContext, f), lasting(hook.WillBindProviders, f),
		lasting(hook.WillAuthorize, f), lasting(hook.WillCheckConsent, f), lasting(hook.WillCheckFeatureFlags, f),
		lasting(hook.WillAcquireQuota, f), lasting(hook.WillAcquireSemaphore, f), lasting(hook.WillParseInput, f),
		lasting(hook.WillValidateInput, f), lasting(hook.WillNormalizeInput, f), lasting(hook.WillRedactInput, f),
		lasting(hook.WillInjectSecrets, f), lasting(hook.WillReadCache, f), lasting(hook.DidCacheHit, f), lasting(hook.DidCacheMiss, f),
		lasting(hook.OnRetry, f), lasting(hook.OnGiveUp, f), lasting(hook.WillWriteCache, f), lasting(hook.WillRedactOutput, f),
		lasting(hook.WillValidateOutput, f), lasting(hook.WillTransformOutput, f), lasting(hook.OnError, f), lasting(hook.WillAudit, f),
		lasting(hook.DidAudit, f), lasting(hook.OnMetrics, f), lasting(hook.DidReleaseSemaphore, f), lasting(hook.DidReleaseQuota, f),
		lasting(hook.WillFinalizeInvoke, f),
	}
}

func lasting[V any](p hook.Point[V], f func(context.Context, hook.Stage, any) error) hook.Handler {
	return p.Do(func(ctx context.Context, v V) error { return f(ctx, p.Stage(), v) })
}

// TestDurableStages: each stage of a durable hook is a regular activity, with a heartbeat timeout
// and the time of the hook.
func TestDurableStages(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	h := hook.New("lasting", durableStages(func(ctx context.Context, s hook.Stage, _ any) error {
		info := activity.GetInfo(ctx)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, string(s))
		if info.IsLocalActivity || info.HeartbeatTimeout == 0 || info.ActivityType.Name != string(s) {
			t.Errorf("%s runs in %+v", s, info)
		}
		// The stage has the minute of the hook, two seconds for other hooks, and five seconds to answer.
		if left := time.Until(info.Deadline); left > 67*time.Second || left < 55*time.Second {
			t.Errorf("%s has %s", s, left)
		}
		return nil
	})...)
	r := newRig(t, rigOptions{hooks: []hook.Hook{h}, fail: func(run int) error {
		if run == 1 {
			return errPlain
		}
		return nil
	}})
	if got := r.run(call("core__remote", `{"text":"hello"}`)); !got.OK || string(got.Value) != `{"text":"hello"}` {
		t.Errorf("got %+v", got)
	}
	order := strings.Fields(strings.Replace(successOrder, "aroundExecute willExecute didExecute", "onRetry", 1))
	if got := strings.Join(seen, " "); got != strings.Join(order, " ") {
		t.Errorf("ran %s\nwant %s", got, strings.Join(order, " "))
	}
}

// TestOwnStepBeforeDurableHooks: Pawl's step at a stage with a durable hook runs inside the
// workflow task, once, and before the hooks. If the step refuses the call, no hook runs. If the gate
// does not demand the step, only the hooks run.
func TestOwnStepBeforeDurableHooks(t *testing.T) {
	t.Parallel()
	quota := strings.Replace(freePolicy, "mode: auto", "mode: auto\n    limits: [{tool: \"core__*\", quota: {tokens: 9, every: 1h}}]", 1)
	for name, tc := range map[string]struct {
		policy string
		answer hook.Verdict
		want   string
		code   toolspec.Code
	}{
		"takes":        {quota, hook.Verdict{}, "step local, hook", ""},
		"refuses":      {quota, stage.Failed(hook.Failure{Code: toolspec.CodeRateLimited}), "step local", toolspec.CodeRateLimited},
		"not demanded": {freePolicy, hook.Verdict{}, "hook", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var seen []string
			note := func(what string) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, what)
			}
			r := newRig(t, rigOptions{policy: tc.policy,
				own: stage.Table{hook.WillAcquireQuota.Stage(): {Before: func(ctx context.Context, in hook.StageInput) (hook.Verdict, error) {
					note(map[bool]string{true: "step local", false: "step regular"}[activity.GetInfo(ctx).IsLocalActivity])
					return tc.answer, nil
				}}},
				hooks: []hook.Hook{hook.New("lasting", hook.Durable(time.Minute), hook.WillAcquireQuota.Do(func(context.Context, *hook.Check) error {
					note("hook")
					return nil
				}))},
			})
			if result := r.run(call("core__read", args)); result.ErrorCode != tc.code {
				t.Errorf("ended with %+v", result)
			}
			if got := strings.Join(seen, ", "); got != tc.want {
				t.Errorf("ran %s, want %s", got, tc.want)
			}
			if n := strings.Count(r.stages(), "willAcquireQuota"); n != 1 {
				t.Errorf("the stage stands %d times in the record", n)
			}
		})
	}
}

// TestDurableTransient: a durable stage is repeated after a transient error, as any stage. If no
// time is left, the call ends with `unavailable`.
func TestDurableTransient(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		failures int
		code     toolspec.Code
	}{"passes": {failures: 3}, "never": {failures: 1 << 30, code: toolspec.CodeUnavailable}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := 0
			keys := map[string]bool{}
			h := hook.New("lasting", hook.Durable(time.Minute), hook.WillAcquireQuota.Do(func(_ context.Context, v *hook.Check) error {
				keys[v.IdempotencyKey()] = true
				if runs++; runs <= tc.failures {
					return errs.Transient(errors.New("away"))
				}
				return nil
			}))
			r := newRig(t, rigOptions{hooks: []hook.Hook{h}})
			got := r.run(call("core__read", `{"text":"hello"}`))
			if got.ErrorCode != tc.code || got.OK != (tc.code == "") || len(keys) != 1 {
				t.Errorf("got %+v after %d runs under the keys %v", got, runs, keys)
			}
			if tc.code == "" && runs != 4 || tc.code != "" && runs != 10 { // the test environment tries at most ten times
				t.Errorf("the hook ran %d times", runs)
			}
		})
	}
}

// TestDurableEndingOutlastsTheMinute: the closing stages of a call have one minute, plus the time
// of durable hooks at these stages.
func TestDurableEndingOutlastsTheMinute(t *testing.T) {
	t.Parallel()
	runs := 0
	h := hook.New("lasting", hook.Durable(time.Hour), hook.DidAudit.Do(func(context.Context, *hook.Report) error {
		if runs++; runs < 9 { // the pauses are 0.1 s, 0.8 s, 6.4 s and five times 15 s; the test environment tries at most ten times
			return errs.Transient(errors.New("away"))
		}
		return nil
	}))
	r := newRig(t, rigOptions{hooks: []hook.Hook{h}})
	if got := r.run(call("core__read", `{"text":"hello"}`)); !got.OK || runs != 9 {
		t.Errorf("got %+v after %d runs", got, runs)
	}
	if stages := r.stages(); !strings.Contains(stages, "didAudit: ok\n") {
		t.Errorf("settled as\n%s", stages)
	}
}

// TestDurableAroundAnApproval: with durable hooks, the gate, the input stages before the wait for an
// approval, and the gate after it all run as regular activities.
func TestDurableAroundAnApproval(t *testing.T) {
	t.Parallel()
	var seen []string
	h := hook.New("lasting", durableStages(func(ctx context.Context, s hook.Stage, view any) error {
		if activity.GetInfo(ctx).IsLocalActivity {
			t.Errorf("%s is a local activity", s)
		}
		seen = append(seen, string(s))
		if v, ok := view.(*hook.Input); ok && s == hook.WillNormalizeInput.Stage() {
			v.SetArgs(echoIn{Text: "normal"})
		}
		return nil
	})...)
	r := newRig(t, rigOptions{hooks: []hook.Hook{h}})
	r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
	if got := r.run(call("core__write", `{"text":"hello"}`)); !got.OK || string(got.Value) != `{"text":"normal"}` {
		t.Errorf("got %+v", got)
	}
	got := strings.Join(seen, " ")
	for _, want := range []string{
		// At willCheckConsent, policy asks before the hook runs. The hook runs there only after the approval.
		"willAuthorize willParseInput willValidateInput willNormalizeInput willRedactInput willAuthorize willCheckConsent willCheckFeatureFlags",
		"willTransformOutput willAudit didAudit onMetrics didReleaseSemaphore didReleaseQuota willFinalizeInvoke",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("ran %s\nand not %s", got, want)
		}
	}
}

// TestDurableHookAsks: a durable hook at willCheckConsent requires an approval, without naming people. The tool runs once, after the approval.
// After an input stage or an approver has changed the arguments, the hook judges the new arguments.
func TestDurableHookAsks(t *testing.T) {
	t.Parallel()
	const bob, cid = "user:bob", "user:cid"
	decide := func(after time.Duration, n int, verb toolspec.Verb, who string, change ...func(*toolspec.Decision)) func(*rig) {
		return func(r *rig) { r.decideAfter(after, n, verb, who, change...) }
	}
	edited := func(args string) func(*toolspec.Decision) {
		return func(d *toolspec.Decision) { d.EditedArgs = json.RawMessage(args) }
	}
	normalized := hook.New("normal", hook.WillNormalizeInput.Do(func(_ context.Context, v *hook.Input) error {
		v.SetArgs(echoIn{Text: "big"})
		return nil
	}))
	recheck := func(r *rig) { recheckAfter(r, 30*time.Second) }
	for _, tc := range []struct {
		name  string
		args  string
		other []hook.Hook
		steps []func(*rig)
		// texts are the texts that the hook judged before an approval. after counts its runs after an approval.
		texts        string
		after, asked int
		code         toolspec.Code // "" = ok
	}{
		{"it asks", big, nil, []func(*rig){decide(time.Minute, 1, toolspec.Approve, bob)}, "big", 1, 1, ""},
		{"it does not ask", small, nil, nil, "small", 0, 0, ""},
		{"denied", big, nil, []func(*rig){decide(time.Minute, 1, toolspec.Deny, bob)}, "big", 0, 1, toolspec.CodeApprovalDenied},
		{"nobody decides", big, nil, nil, "big", 0, 1, toolspec.CodeApprovalExpired},
		{"a recheck", big, nil, []func(*rig){recheck, decide(time.Minute, 1, toolspec.Approve, bob)}, "big big", 1, 1, ""},
		{"changed arguments", small, []hook.Hook{normalized}, []func(*rig){decide(time.Minute, 1, toolspec.Approve, bob)}, "small big", 1, 1, ""},
		{"edited arguments", big, nil, []func(*rig){
			decide(time.Minute, 1, toolspec.Edit, bob, edited(small)), decide(2*time.Minute, 2, toolspec.Approve, cid),
		}, "big small", 1, 2, ""},
		{"beside a hook that may name approvers", big, []hook.Hook{(&namer{name: "amounts", late: 9}).hook()}, []func(*rig){
			recheck, decide(time.Minute, 1, toolspec.Approve, bob),
		}, "big", 1, 1, ""},
		{"beside a hook that names approvers", big, []hook.Hook{(&namer{name: "amounts", person: "user:cfo"}).hook()}, []func(*rig){
			decide(time.Minute, 1, toolspec.Approve, bob), decide(2*time.Minute, 1, toolspec.Approve, "user:cfo"),
		}, "big", 1, 1, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var texts []string
			after := 0
			h := hook.New("lasting", hook.Durable(time.Minute), hook.WillCheckConsent.Do(func(ctx context.Context, v *hook.Consent) error {
				if activity.GetInfo(ctx).IsLocalActivity {
					t.Error("the hook runs in a local activity")
				}
				if v.Approved() {
					after++
					return nil
				}
				var in echoIn
				if err := json.Unmarshal(v.Args(), &in); err != nil {
					return err
				}
				if texts = append(texts, in.Text); in.Text != "big" {
					return nil
				}
				return v.RequireApproval(hook.Ask{Message: "the service asks"})
			}))
			r := newRig(t, rigOptions{policy: freePolicy, hooks: append([]hook.Hook{h}, tc.other...)})
			for _, step := range tc.steps {
				step(r)
			}
			result := r.run(call("core__mail", tc.args))
			if result.ErrorCode != tc.code || r.ran() != map[bool]int{true: 1}[tc.code == ""] || r.records.asks != tc.asked {
				t.Errorf("got %+v after %d runs and %d requests", result, r.ran(), r.records.asks)
			}
			if got := strings.Join(texts, " "); got != tc.texts || after != tc.after {
				t.Errorf("the hook judged %q, want %q, and ran %d times after the approval\n%s", got, tc.texts, after, r.stages())
			}
		})
	}
}

// TestDurableCancelled: a cancel ends a durable stage, and so the call. The durable closing stages
// still run.
func TestDurableCancelled(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	var cancel func()
	h := hook.New("lasting", durableStages(func(ctx context.Context, s hook.Stage, _ any) error {
		mu.Lock()
		seen = append(seen, string(s))
		mu.Unlock()
		if s != hook.WillAcquireQuota.Stage() {
			return ctx.Err()
		}
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})...)
	r := newRig(t, rigOptions{hooks: []hook.Hook{h}})
	cancel = sync.OnceFunc(r.env.CancelWorkflow)
	if got := r.run(call("core__read", `{"text":"hello"}`)); got.ErrorCode != toolspec.CodeCancelled || r.ran() != 0 {
		t.Errorf("got %+v after %d runs", got, r.ran())
	}
	if got := strings.Join(seen, " "); !strings.HasSuffix(got, "willAcquireQuota "+errorOrder) {
		t.Errorf("ran %s", got)
	}
	if stages := r.stages(); !strings.Contains(stages, "willAcquireQuota: cancelled\n") || !strings.Contains(stages, "willFinalizeInvoke: ok\n") {
		t.Errorf("settled as\n%s", stages)
	}
}

// TestDurableTimesOut: a durable hook that exceeds its time fails the call at a closed stage, and
// changes nothing at a logged stage.
func TestDurableTimesOut(t *testing.T) {
	t.Parallel()
	hangs := func(ctx context.Context, _ hook.Stage, _ any) error { <-ctx.Done(); return ctx.Err() }
	// Each hook has one stage: after the first stage, no time would be left for another stage.
	for stage, tc := range map[hook.Stage]struct {
		at   hook.Handler
		code toolspec.Code
	}{
		hook.WillAcquireQuota.Stage():    {lasting(hook.WillAcquireQuota, hangs), toolspec.CodeTimeout},
		hook.WillTransformOutput.Stage(): {lasting(hook.WillTransformOutput, hangs), toolspec.CodeTimeout},
		hook.DidAudit.Stage():            {lasting(hook.DidAudit, hangs), ""},
	} {
		t.Run(string(stage), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{hooks: []hook.Hook{hook.New("lasting", tc.at, hook.Durable(50*time.Millisecond))}})
			got := r.run(call("core__read", `{"text":"hello"}`))
			if got.ErrorCode != tc.code || tc.code != "" && got.SafeMessage != "hook lasting did not end within 50ms at "+string(stage) {
				t.Errorf("got %+v", got)
			}
		})
	}
}
