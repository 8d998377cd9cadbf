package hook_test

import (
	"context"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// TestWaiting: only hooks of Pawl's own send a call to sleep or say that it is superseded, and only where somebody waits.
func TestWaiting(t *testing.T) {
	wait := hook.Wait{Reason: "full", RetryMs: 5, DeadlineMs: 7, Code: toolspec.CodeCapacity, RetryAfterMs: 9}
	capacity := func(err error) hook.Handler {
		return hook.WillAcquireQuota.Do(func(context.Context, *hook.Check) error { return err })
	}
	for name, tc := range map[string]struct {
		stage   hook.Stage
		hook    hook.Hook
		outcome hook.Outcome
	}{
		"waits":             {"willAcquireQuota", hook.New("h", hook.Builtin(), capacity(hook.WaitFor(wait))), hook.Waited},
		"stale":             {"willAcquireQuota", hook.New("h", hook.Builtin(), capacity(hook.Stale())), hook.Superseded},
		"a user's waits":    {"willAcquireQuota", hook.New("h", capacity(hook.WaitFor(wait))), hook.Failed},
		"a user's is stale": {"willAcquireQuota", hook.New("h", capacity(hook.Stale())), hook.Failed},
		"at the gate": {"willAuthorize", hook.New("h", hook.Builtin(), hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error {
			return hook.WaitFor(wait)
		})), hook.Failed},
	} {
		r, _ := registry(t, tc.hook)
		v, err := r.Run(t.Context(), hook.StageInput{Stage: tc.stage, Hooks: []string{"h"}})
		if err != nil || v.Outcome != tc.outcome || (v.Outcome == hook.Waited) != (v.Wait != nil) || v.Wait != nil && *v.Wait != wait {
			t.Errorf("%s: got %+v, %v, want %q", name, v, err, tc.outcome)
		}
	}
}

// TestOnDemand: a step is on demand where only hooks of Pawl's own stand that say so.
func TestOnDemand(t *testing.T) {
	at := hook.WillAcquireQuota.Do(func(context.Context, *hook.Check) error { return nil })
	demanded := hook.New("demanded", hook.Builtin(), hook.OnDemand(), at)
	for name, tc := range map[string]struct {
		hooks []hook.Hook
		want  bool
	}{
		"one":           {[]hook.Hook{demanded}, true},
		"beside a user": {[]hook.Hook{demanded, hook.New("user", at)}, false},
		"a user's":      {[]hook.Hook{hook.New("user", hook.OnDemand(), at)}, false},
		"always":        {[]hook.Hook{hook.New("always", hook.Builtin(), at)}, false},
	} {
		r, _ := registry(t, tc.hooks...)
		for _, step := range r.Steps(hook.Pre(), "t") {
			if step.Stage == "willAcquireQuota" && step.OnDemand != tc.want {
				t.Errorf("%s: on demand %t", name, step.OnDemand)
			}
		}
	}
}
