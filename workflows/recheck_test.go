package workflows_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// TestRecheckOfARunningCall: nothing waits for a person or for capacity. The gate is asked before the next attempt, and never twice for
// nothing; a pause goes on for the rest of its time.
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
		// at is when the change comes: into the input stages, or into the pause after the first attempt.
		at    string
		code  toolspec.Code
		runs  int
		took  time.Duration
		gates int
	}{
		{"denied before the first attempt", "core__remote", denying, "input", toolspec.CodePolicyDenied, 0, 0, 2},
		{"denied before it, in the local lane", "core__read", denying, "input", toolspec.CodePolicyDenied, 0, 0, 2},
		{"denied while it pauses", "core__remote", denying, "pause", toolspec.CodePolicyDenied, 1, time.Minute, 2},
		// Once after the signal, once after a pause as long as this.
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
			if result.ErrorCode != tc.code || r.runs != tc.runs || took < tc.took-time.Second || took > tc.took+time.Minute/2 {
				t.Errorf("got %+v after %s and %d runs", result, took, r.runs)
			}
			if got := strings.Count(r.stages(), "willAuthorize"); got != tc.gates {
				t.Errorf("the gate was asked %d times, want %d:\n%s", got, tc.gates, r.stages())
			}
		})
	}
}
