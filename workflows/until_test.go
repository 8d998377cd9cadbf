package workflows_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

const night = 8 * time.Hour

// TestWaitUntil: a call waits for the time that a hook names. The wait does not use up the deadline, an approval from before the wait
// counts, and after the wait the gate judges the call with the active policy.
func TestWaitUntil(t *testing.T) {
	atGate := hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error {
		if v.Remaining() < time.Second {
			return v.Abort("the deadline is over")
		}
		return v.WaitUntil(v.StartedAt().Add(night), "closed")
	})
	atConsent := hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error { return v.WaitUntil(v.StartedAt().Add(night), "closed") })
	onceApproved := hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error {
		if !v.Approved() {
			return nil
		}
		return v.WaitUntil(v.StartedAt().Add(night), "closed")
	})
	afterRecheck := hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error {
		if v.Round() == 1 {
			return nil
		}
		return v.WaitUntil(v.StartedAt().Add(night), "closed")
	})
	tooLate := hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error {
		return v.WaitUntil(v.Now().Add(hook.MaxWait+time.Second), "closed")
	})
	again := hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error {
		return v.WaitUntil(v.StartedAt().Add(10*time.Second), "closed")
	})
	asking := hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error {
		switch {
		case v.Approved():
			return nil
		case v.Now().Sub(v.StartedAt()) < night:
			return v.WaitUntil(v.StartedAt().Add(night), "closed")
		}
		return v.RequireApproval(hook.Ask{Approvals: &hook.Approvals{Approvers: []string{"user:cfo"}}})
	})
	authorizedOnce := hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error {
		if v.Round() == 1 {
			return nil
		}
		return v.Abort("not authorized any more")
	})
	const denies = "version: 1\ntenants: {acme: {allowedTools: [core__read]}}\n"
	approve := func(after time.Duration, who string) func(*rig) {
		return func(r *rig) { r.decideAfter(after, 1, toolspec.Approve, who) }
	}
	activate := func(after time.Duration, text string, recheck bool) func(*rig) {
		return func(r *rig) {
			r.env.RegisterDelayedCallback(func() { r.activate(text) }, after)
			if recheck {
				recheckAfter(r, after+time.Second)
			}
		}
	}
	cancel := func(after time.Duration) func(*rig) {
		return func(r *rig) { r.env.RegisterDelayedCallback(r.env.CancelWorkflow, after) }
	}
	for _, tc := range []struct {
		name, policy string
		at           hook.Handler
		also         []hook.Option
		names        bool
		steps        []func(*rig)
		code         toolspec.Code
		took         time.Duration
		asked        int
	}{
		{name: "before authorization", policy: freePolicy, at: atGate, took: night},
		{name: "before consent", policy: freePolicy, at: atConsent, took: night},
		{name: "then a person is asked", at: atGate, steps: []func(*rig){approve(night+time.Minute, "user:bob")}, took: night + time.Minute, asked: 1},
		{name: "the approval is from before", at: onceApproved, steps: []func(*rig){approve(time.Minute, "user:bob")}, took: night, asked: 1},
		{name: "a hook that names approvers", policy: freePolicy, at: asking, names: true, steps: []func(*rig){approve(night+time.Minute, "user:cfo")}, took: night + time.Minute, asked: 1},
		{name: "policy asks too, and the hook names approvers", at: asking, names: true, steps: []func(*rig){approve(night+time.Minute, "user:cfo")}, took: night + time.Minute, asked: 1},
		{name: "denied by then", at: onceApproved, steps: []func(*rig){approve(time.Minute, "user:bob"), activate(night/2, denies, false)}, code: toolspec.CodePolicyDenied, took: night, asked: 1},
		{name: "not authorized any more", policy: freePolicy, at: atConsent, also: []hook.Option{authorizedOnce}, code: toolspec.CodeAborted, took: night},
		{name: "denied meanwhile", policy: freePolicy, at: atConsent, steps: []func(*rig){activate(night/2, denies, true)}, code: toolspec.CodePolicyDenied, took: night / 2},
		{name: "a recheck that changes nothing", policy: freePolicy, at: atConsent, steps: []func(*rig){func(r *rig) { recheckAfter(r, time.Hour) }}, took: night},
		{name: "policy asks no more", at: afterRecheck, steps: []func(*rig){activate(time.Minute, freePolicy, true)}, took: night, asked: 1},
		{name: "cancelled", policy: freePolicy, at: atGate, steps: []func(*rig){cancel(time.Hour)}, code: toolspec.CodeCancelled, took: time.Hour},
		{name: "beyond the longest wait", policy: freePolicy, at: tooLate, code: toolspec.CodeInternal},
		{name: "a time that is over", policy: freePolicy, at: again, took: 10 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			options := append([]hook.Option{tc.at}, tc.also...)
			if tc.names {
				options = append(options, hook.NamesApprovers())
			}
			r := newRig(t, rigOptions{policy: tc.policy, hooks: []hook.Hook{hook.New("office-hours", options...)}})
			for _, step := range tc.steps {
				step(r)
			}
			result := r.run(call("core__write", big))
			took := time.Duration(result.EndedAtMs-result.StartedAtMs) * time.Millisecond
			if result.ErrorCode != tc.code || r.ran() != map[bool]int{true: 1}[tc.code == ""] || took < tc.took || took > tc.took+time.Minute/2 || r.records.asks != tc.asked {
				t.Errorf("got %+v after %s, %d runs and %d requests\n%s", result, took, r.ran(), r.records.asks, r.stages())
			}
		})
	}
}

// TestWaitUntilIsShown: the state says why the call waits.
func TestWaitUntilIsShown(t *testing.T) {
	h := hook.New("office-hours", hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error {
		return v.WaitUntil(v.StartedAt().Add(night), "closed until 08:00")
	}))
	r := newRig(t, rigOptions{policy: freePolicy, hooks: []hook.Hook{h}})
	r.env.RegisterDelayedCallback(func() {
		if got := r.state(); got.Status != toolspec.StatusWaitingCapacity || got.Waiting != "closed until 08:00" {
			t.Errorf("the state is %+v", got)
		}
	}, time.Hour)
	if result := r.run(call("core__write", big)); !result.OK {
		t.Errorf("got %+v", result)
	}
	if got := r.state(); got.Status != toolspec.StatusSettled || got.Waiting != "" {
		t.Errorf("the state at the end is %+v", got)
	}
	if !strings.Contains(r.stages(), "willAuthorize: wait") {
		t.Errorf("the record does not show the wait:\n%s", r.stages())
	}
}
