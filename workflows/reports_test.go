package workflows_test

import (
	"context"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// TestReports checks what the hooks of onGiveUp and of the closing stages see of a call that
// succeeded, failed in the gate, or failed in its last attempt.
func TestReports(t *testing.T) {
	t.Parallel()
	const closing = "willAudit didAudit onMetrics didReleaseSemaphore didReleaseQuota willFinalizeInvoke"
	for name, c := range map[string]struct {
		tool     string
		policy   string
		fail     error
		stages   string
		code     toolspec.Code
		attempts int
	}{
		"it succeeds":                 {"core__remote", freePolicy, nil, closing, "", 1},
		"its last attempt fails":      {"core__remote", freePolicy, errPlain, "onGiveUp onError " + closing, toolspec.CodeExecution, 3},
		"the service refuses to wait": {"core__mail", freePolicy, toolspec.RetryAfter(0, "busy"), "onGiveUp onError " + closing, toolspec.CodeRateLimited, 1},
		"policy denies it":            {"core__read", denyingPolicy, nil, "onError " + closing, toolspec.CodePolicyDenied, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen []string
			report := func(stage hook.Stage, v *hook.Report) {
				seen = append(seen, string(stage))
				f := v.Failure()
				switch {
				case v.ErrorCode() != c.code || v.OK() != (c.code == "") || v.Attempts() != c.attempts:
					t.Errorf("%s sees code %q, OK %t after %d attempts", stage, v.ErrorCode(), v.OK(), v.Attempts())
				case (f == nil) != (c.code == "") || f != nil && f.Code != c.code:
					t.Errorf("%s sees the failure %+v", stage, f)
				}
			}
			reports := []hook.Option{hook.WillAudit.Do(func(_ context.Context, v *hook.Audit) error {
				report(hook.WillAudit.Stage(), &v.Report)
				return nil
			})}
			for _, at := range []hook.Point[*hook.Report]{
				hook.OnGiveUp, hook.OnError, hook.DidAudit, hook.OnMetrics, hook.DidReleaseSemaphore, hook.DidReleaseQuota, hook.WillFinalizeInvoke,
			} {
				reports = append(reports, at.Do(func(_ context.Context, v *hook.Report) error {
					report(at.Stage(), v)
					return nil
				}))
			}
			r := newRig(t, rigOptions{policy: c.policy, hooks: []hook.Hook{hook.New("reports", reports...)}, fail: func(int) error { return c.fail }})
			if result := r.run(call(c.tool, args)); result.ErrorCode != c.code {
				t.Errorf("the call ended %+v", result)
			}
			if got := strings.Join(seen, " "); got != c.stages {
				t.Errorf("the hooks ran at %s, want %s", got, c.stages)
			}
		})
	}
}
