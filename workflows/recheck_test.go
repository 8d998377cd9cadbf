package workflows_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/authz/authztest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestRecheckOfARunningCall: a recheck arrives while the call waits neither for a person nor for capacity. The gate judges the call once, before
// the next attempt. A pause between attempts continues for the rest of its time.
func TestRecheckOfARunningCall(t *testing.T) {
	const (
		denying = "version: 1\ntenants: {acme: {allowedTools: []}}\n"
		other   = "version: 1\ntenants: {acme: {allowedTools: [\"core__*\"], mode: yolo}, beta: {allowedTools: []}}\n"
	)
	const pause = 10 * time.Minute
	for _, tc := range []struct {
		name   string
		tool   string
		policy string
		// at says when policy changes: in an input stage, or in the pause after the first attempt.
		at    string
		code  toolspec.Code
		runs  int
		took  time.Duration
		gates int
	}{
		{"denied before the first attempt", "core__remote", denying, "input", toolspec.CodePolicyDenied, 0, 0, 2},
		{"denied before it, in the local lane", "core__read", denying, "input", toolspec.CodePolicyDenied, 0, 0, 2},
		{"denied while it pauses", "core__remote", denying, "pause", toolspec.CodePolicyDenied, 1, time.Minute, 2},
		// The gate judges the call once after the signal, and once after a pause longer than a minute.
		{"still allowed while it pauses", "core__remote", other, "pause", "", 2, pause, 3},
		{"still allowed before the first attempt", "core__remote", other, "input", "", 2, pause, 3},
		{"not asked", "core__remote", "", "", "", 2, pause, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r *rig
			change := func() {
				r.activate(tc.policy)
				r.env.SignalWorkflow(toolspec.RecheckName, nil)
			}
			busy := func(run int) error {
				if run == 1 {
					return toolspec.RetryAfter(pause, "busy")
				}
				return nil
			}
			r = newRig(t, rigOptions{policy: freePolicy, fail: busy, hooks: []hook.Hook{
				hook.New("input", hook.WillNormalizeInput.Do(func(context.Context, *hook.Input) error {
					if tc.at == "input" {
						change()
					}
					return nil
				})),
			}})
			if tc.at == "pause" {
				r.env.RegisterDelayedCallback(change, time.Minute)
			}
			result := r.run(call(tc.tool, args))
			took := time.Duration(result.EndedAtMs-result.StartedAtMs) * time.Millisecond
			if result.ErrorCode != tc.code || r.ran() != tc.runs || took < tc.took-time.Second || took > tc.took+time.Minute/2 {
				t.Errorf("got %+v after %s and %d runs", result, took, r.ran())
			}
			if got := strings.Count(r.stages(), "willAuthorize"); got != tc.gates {
				t.Errorf("the gate was asked %d times, want %d:\n%s", got, tc.gates, r.stages())
			}
		})
	}
}

// TestRecheck: a recheck makes the gate judge a call that waits for an approval.
func TestRecheck(t *testing.T) {
	recheck := func(r *rig, after time.Duration) {
		r.env.RegisterDelayedCallback(func() { r.env.SignalWorkflow(toolspec.RecheckName, nil) }, after)
	}
	for _, tc := range []struct {
		name   string
		policy string
		setup  func(*rig)
		code   toolspec.Code
		took   time.Duration
	}{
		{"nothing changed", testPolicy, func(*rig) {}, toolspec.CodeApprovalExpired, time.Hour},
		{"nothing changed, then approved", testPolicy, func(r *rig) { r.decideAfter(10*time.Minute, 1, toolspec.Approve, "user:bob") }, "", 10 * time.Minute},
		{"denied now", "version: 1\ntenants: {acme: {allowedTools: [core__read]}}\n", func(*rig) {}, toolspec.CodePolicyDenied, 5 * time.Minute},
		{"no longer asked", freePolicy, func(*rig) {}, "", 5 * time.Minute},
		{"behind a corrupt signal", freePolicy, func(r *rig) {
			r.env.RegisterDelayedCallback(func() { r.env.SignalWorkflow(toolspec.DecideName, "x") }, time.Minute)
		}, "", 5 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r *rig
			var listed contract.RequestState // the state of the request while the tool runs
			r = newRig(t, rigOptions{fail: func(int) error { listed = r.records.requests[0].state; return nil }})
			r.env.RegisterDelayedCallback(func() { r.activate(tc.policy) }, 2*time.Minute)
			recheck(r, 5*time.Minute)
			tc.setup(r)
			result := r.run(call("core__write", args))
			took := time.Duration(result.EndedAtMs-result.StartedAtMs) * time.Millisecond
			if result.ErrorCode != tc.code || took < tc.took || took > tc.took+time.Second {
				t.Errorf("got %+v after %s, want %q after %s", result, took, tc.code, tc.took)
			}
			if tc.policy == freePolicy && listed != contract.RequestClosed {
				t.Errorf("while the tool runs its request is %s", listed)
			}
		})
	}
	// Without a recheck, the gate uses the new policy only after the approval.
	r := newRig(t, rigOptions{})
	r.env.RegisterDelayedCallback(func() { r.activate("version: 1\ntenants: {acme: {allowedTools: [core__read]}}\n") }, 2*time.Minute)
	r.decideAfter(10*time.Minute, 1, toolspec.Approve, "user:bob")
	if result := r.run(call("core__write", args)); result.ErrorCode != toolspec.CodePolicyDenied || r.ran() != 0 {
		t.Errorf("got %+v", result)
	}
}

// TestRecheckAfterALongWait: the deadline does not count the wait for a person, so at a recheck after a wait longer than the deadline, the gate
// still has time.
func TestRecheckAfterALongWait(t *testing.T) {
	const looks = 3
	asked := 0
	r := newRig(t, rigOptions{
		policy: testPolicy + "    budgets: {deadlineMs: 60000}\n",
		engine: authztest.New(func(ctx context.Context, _ authz.Request) (authz.Decision, error) {
			if asked++; asked == 1 || ctx.Err() != nil {
				return authz.Allow(), ctx.Err()
			}
			// A real engine takes some time to answer.
			select {
			case <-ctx.Done():
				return authz.Decision{}, ctx.Err()
			case <-time.After(30 * time.Millisecond):
				return authz.Allow(), nil
			}
		}),
	})
	for n := range looks {
		r.env.RegisterDelayedCallback(func() { r.env.SignalWorkflow(toolspec.RecheckName, nil) }, time.Duration(20+n)*time.Minute)
	}
	r.decideAfter(50*time.Minute, 1, toolspec.Approve, "user:bob")
	if result := r.run(call("core__write", args)); !result.OK || r.ran() != 1 || asked != looks+2 {
		t.Errorf("got %+v after %d runs and %d questions", result, r.ran(), asked)
	}
}

// TestRecheckAfterAnEdit checks that edited arguments wait for an approval although policy no longer asks for one. Otherwise the editor
// alone would choose the arguments that run.
func TestRecheckAfterAnEdit(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.decideAfter(time.Minute, 1, toolspec.Edit, "user:bob", func(d *toolspec.Decision) { d.EditedArgs = []byte(`{"text":"edited"}`) })
	r.env.RegisterDelayedCallback(func() { r.activate(freePolicy) }, 2*time.Minute)
	r.env.RegisterDelayedCallback(func() { r.env.SignalWorkflow(toolspec.RecheckName, nil) }, 3*time.Minute)
	r.decideAfter(10*time.Minute, 2, toolspec.Approve, "user:cid")
	result := r.run(call("core__write", args))
	if took := result.EndedAtMs - result.StartedAtMs; !result.OK || string(result.Value) != `{"text":"edited"}` || took < (10*time.Minute).Milliseconds()-1000 {
		t.Errorf("got %+v after %d ms", result, took)
	}
}
