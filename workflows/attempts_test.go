package workflows_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// freePolicy allows every call without an approval.
const freePolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["core__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}
    rules: [{tool: "core__*", decision: allow}]
`

const args = `{"text":"hello"}`

// TestUnansweredEffect: a tool may return the error that it does not know whether it had its effect. Then the call ends with an unknown
// outcome, and the tool does not run again. A read runs again.
func TestUnansweredEffect(t *testing.T) {
	for toolID, want := range map[string]struct {
		code  toolspec.Code
		cause string
		runs  int
	}{"core__mail": {toolspec.CodeOutcomeUnknown, "unanswered", 1}, "core__read": {"", "", 2}} {
		r := newRig(t, rigOptions{policy: freePolicy, fail: func(run int) error {
			if run == 1 {
				return toolspec.Unanswered("no answer came")
			}
			return nil
		}})
		result := r.run(call(toolID, args))
		cause := ""
		if result.Details != nil {
			cause = result.Details.Cause
		}
		if result.ErrorCode != want.code || cause != want.cause || r.ran() != want.runs {
			t.Errorf("%s: got %+v after %d runs", toolID, result, r.ran())
		}
	}
}

// patientMail returns a tool that must not be repeated, unless it reports that
// nothing happened.
func patientMail(run func(context.Context, echoIn, toolspec.Call) (echoOut, error)) toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID: "core__patient_mail", Description: "test tool", Version: "1", Effect: toolspec.ExternalSideEffect, Risk: toolspec.HighRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}}, MaxAttempts: 3,
	}, run)
}

// retryCounter counts the runs of onRetry, onGiveUp and onError. A run of onError after
// onGiveUp counts as 11.
type retryCounter struct {
	retries []int
	gaveUp  int
	errors  int
}

func (c *retryCounter) hook() hook.Hook {
	return hook.New("counter",
		hook.OnRetry.Do(func(_ context.Context, v *hook.Attempt) error { c.retries = append(c.retries, v.Attempt()); return nil }),
		hook.OnGiveUp.Do(func(_ context.Context, v *hook.Report) error { c.gaveUp++; return nil }),
		hook.OnError.Do(func(context.Context, *hook.Report) error { c.errors += 1 + 10*c.gaveUp; return nil }))
}

func TestRetries(t *testing.T) {
	failing := func(err error, times int) func(int) error {
		return func(run int) error {
			if run <= times {
				return err
			}
			return nil
		}
	}
	for _, tc := range []struct {
		name     string
		tool     string
		fail     func(int) error
		code     toolspec.Code
		attempts int
		took     time.Duration
		retries  []int
		gaveUp   int
	}{
		{"at once", "core__remote", nil, "", 1, 0, nil, 0},
		{"twice, then well", "core__remote", failing(errPlain, 2), "", 3, 3 * time.Second, []int{2, 3}, 0},
		{"twice in the local lane", "core__read", failing(errPlain, 2), "", 3, 3 * time.Second, []int{2, 3}, 0},
		{"an idempotent write", "core__write", failing(errPlain, 1), "", 2, time.Second, []int{2}, 0},
		{"always", "core__remote", failing(errPlain, 9), toolspec.CodeExecution, 3, 3 * time.Second, []int{2, 3}, 1},
		{"always in the local lane", "core__read", failing(errPlain, 9), toolspec.CodeExecution, 3, 3 * time.Second, []int{2, 3}, 1},
		{"a final answer", "core__remote", failing(toolspec.Safef("no"), 9), toolspec.CodeExecution, 1, 0, nil, 0},
		{"come back", "core__remote", failing(toolspec.RetryAfter(10*time.Second, "busy"), 1), "", 2, 10 * time.Second, []int{2}, 0},
		{"come back sooner than one would", "core__remote", failing(toolspec.RetryAfter(time.Millisecond, "busy"), 1), "", 2, time.Second, []int{2}, 0},
		{"always busy", "core__remote", failing(toolspec.RetryAfter(10*time.Second, "busy"), 9), toolspec.CodeRateLimited, 3, 20 * time.Second, []int{2, 3}, 1},
		{"what may not be repeated", "core__mail", failing(errPlain, 9), toolspec.CodeExecution, 1, 0, nil, 1},
		{"busy, with one attempt allowed", "core__mail", failing(toolspec.RetryAfter(10*time.Second, "busy"), 9), toolspec.CodeRateLimited, 1, 0, nil, 1},
		{"busy, with more allowed", "core__patient_mail", failing(toolspec.RetryAfter(10*time.Second, "busy"), 1), "", 2, 10 * time.Second, []int{2}, 0},
		{"failed, with more allowed", "core__patient_mail", failing(errPlain, 9), toolspec.CodeExecution, 1, 0, nil, 1},
		{"busy once, then failed", "core__patient_mail", func(run int) error {
			if run == 1 {
				return toolspec.RetryAfter(10*time.Second, "busy")
			}
			return errPlain
		}, toolspec.CodeExecution, 2, 10 * time.Second, []int{2}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var c retryCounter
			var r *rig
			r = newRig(t, rigOptions{policy: freePolicy, fail: tc.fail, hooks: []hook.Hook{c.hook()}, tools: []toolspec.Tool{
				patientMail(func(_ context.Context, in echoIn, _ toolspec.Call) (echoOut, error) {
					r.runs.Add(1)
					return echoOut{Text: in.Text}, tc.fail(r.ran())
				}),
			}})
			result := r.run(call(tc.tool, args))
			if result.ErrorCode != tc.code || result.Attempts != tc.attempts || r.ran() != tc.attempts {
				t.Errorf("got %+v after %d runs, want %q after %d attempts", result, r.ran(), tc.code, tc.attempts)
			}
			took := time.Duration(result.EndedAtMs-result.StartedAtMs) * time.Millisecond
			if took < tc.took || took > tc.took+time.Second/2 {
				t.Errorf("took %s, want %s", took, tc.took)
			}
			failed := 0
			if tc.code != "" {
				failed = 1 + 10*tc.gaveUp // onGiveUp runs before onError: see retryCounter
			}
			if !slices.Equal(c.retries, tc.retries) || c.gaveUp != tc.gaveUp || c.errors != failed {
				t.Errorf("onRetry %v, onGiveUp %d, onError %d", c.retries, c.gaveUp, c.errors)
			}
			if strings.Contains(result.SafeMessage, "canary") {
				t.Errorf("the message is %s", result.SafeMessage)
			}
			if tc.code == toolspec.CodeRateLimited && result.RetryAfterMs != 10_000 {
				t.Errorf("retry after %d ms", result.RetryAfterMs)
			}
		})
	}
}

// TestAnsweredDispatches: a claim lists the earlier claims whose tool reported that
// nothing happened.
func TestAnsweredDispatches(t *testing.T) {
	r := newRig(t, rigOptions{policy: freePolicy, tools: []toolspec.Tool{
		patientMail(func(_ context.Context, in echoIn, call toolspec.Call) (echoOut, error) {
			if call.Attempt < 3 {
				return echoOut{}, toolspec.RetryAfter(0, "busy")
			}
			return echoOut{Text: in.Text}, nil
		}),
	}})
	if result := r.run(call("core__patient_mail", args)); !result.OK || result.Attempts != 3 {
		t.Errorf("got %+v", result)
	}
	var answered [][]contract.Claim
	var claims []contract.Claim
	for _, row := range r.records.rows {
		answered = append(answered, row.Answered)
		claims = append(claims, contract.Claim{Dispatch: row.Dispatch, ID: row.ClaimID})
	}
	if want := [][]contract.Claim{nil, claims[:1], claims[:2]}; !reflect.DeepEqual(answered, want) {
		t.Errorf("answered %v, want %v", answered, want)
	}
	if claims[0].ID == "" || claims[0].ID == claims[1].ID {
		t.Errorf("the ids are not drawn: %v", claims)
	}
}

// TestTimeout: a read that does not answer within its timeout is repeated. A write that
// does not answer ends with an unknown outcome.
func TestTimeout(t *testing.T) {
	slow := func(id string, effect toolspec.Effect, fast bool) toolspec.Tool {
		return toolspec.Define(toolspec.Definition{
			ID: id, Description: "test tool", Effect: effect, Risk: toolspec.LowRisk, Fast: fast, Timeout: 20 * time.Millisecond,
			Redaction: toolspec.Redaction{Allow: []string{"/text"}},
		}, func(ctx context.Context, _ echoIn, _ toolspec.Call) (echoOut, error) {
			<-ctx.Done()
			return echoOut{}, ctx.Err()
		})
	}
	for _, tc := range []struct {
		tool     string
		effect   toolspec.Effect
		fast     bool
		code     toolspec.Code
		attempts int
	}{
		{"core__slow_read", toolspec.ReadOnly, false, toolspec.CodeTimeout, 3},
		{"core__slow_local_read", toolspec.ReadOnly, true, toolspec.CodeTimeout, 3},
		{"core__slow_write", toolspec.StateChange, false, toolspec.CodeOutcomeUnknown, 1},
	} {
		r := newRig(t, rigOptions{policy: freePolicy, tools: []toolspec.Tool{slow(tc.tool, tc.effect, tc.fast)}})
		result := r.run(call(tc.tool, args))
		if result.ErrorCode != tc.code || result.Attempts != tc.attempts {
			t.Errorf("%s: got %+v", tc.tool, result)
		}
		if tc.code == toolspec.CodeOutcomeUnknown && result.Details.Cause != "timeout" {
			t.Errorf("%s: cause %s", tc.tool, result.Details.Cause)
		}
	}
}

// TestSuperseded: if the record has a newer epoch or a result, the call follows the
// record, at whichever step it learns this.
func TestSuperseded(t *testing.T) {
	other := &toolspec.Result{ToolCallID: "call-1", OK: true, Value: []byte(`"of another run"`), Attempts: 5}
	for _, tc := range []struct {
		name    string
		tool    string
		setup   func(*rig)
		other   bool // the result of the other run is the result of the call
		runs    int
		admits  int
		settles int
	}{
		{"at settle", "core__read", func(r *rig) {
			r.records.onSettle = func(n int) contract.Outcome {
				if n == 1 {
					return contract.Superseded
				}
				return ""
			}
		}, false, 1, 2, 2},
		{"at settle, and settled there", "core__read", func(r *rig) {
			r.records.onSettle = func(int) contract.Outcome { return contract.Superseded }
			r.records.onAdmit = func(n int, row *admit.Record) {
				if n == 2 {
					row.Result = other
				}
			}
		}, true, 1, 2, 1},
		{"settled by another, with the same epoch", "core__read", func(r *rig) {
			r.records.onSettle = func(int) contract.Outcome { r.records.row.Result = other; return "" }
		}, true, 1, 1, 1},
		{"settled before it began", "core__read", func(r *rig) {
			r.records.onAdmit = func(_ int, row *admit.Record) { row.Result = other }
		}, true, 0, 1, 0},
		{"at the claim, and settled there", "core__write", func(r *rig) {
			r.records.onClaim = func(int) (contract.Outcome, error) { return contract.Superseded, nil }
			r.records.onAdmit = func(n int, row *admit.Record) {
				if n == 2 {
					row.Result = other
				}
			}
		}, true, 0, 2, 0},
		{"when it asks about a lost attempt, and settled there", "core__mail", func(r *rig) {
			r.records.onClaim = func(int) (contract.Outcome, error) { return dies, nil }
			r.records.onCheck = func(int) contract.Outcome { return contract.Superseded }
			r.records.onAdmit = func(n int, row *admit.Record) {
				if n == 2 {
					row.Result = other
				}
			}
		}, true, 0, 2, 0},
		{"at a review, and settled there", "core__asks", func(r *rig) {
			r.records.onLook = func(int) bool { return true }
			r.records.onAdmit = func(n int, row *admit.Record) {
				if n == 2 {
					row.Result = other
				}
			}
			r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
		}, true, 0, 2, 0},
		{"when it reads the gate state, and settled there", "core__remote", func(r *rig) {
			r.fail = busyOnce(2 * time.Minute)
			r.records.onState = func(int) bool { return true }
			r.records.onAdmit = func(n int, row *admit.Record) {
				if n == 2 {
					row.Result = other
				}
			}
		}, true, 1, 2, 0},
		{"after a wait for a worker that reads the policy, and settled there", "core__read", func(r *rig) {
			r.records.active = unreadable
			r.records.onState = func(int) bool { return true }
			r.records.onAdmit = func(n int, row *admit.Record) {
				if n == 2 {
					row.Result = other
				}
			}
		}, true, 0, 2, 1},
		{"when it reads the gate state", "core__remote", func(r *rig) {
			r.fail = busyOnce(2 * time.Minute)
			r.records.onState = func(n int) bool { return n == 1 }
		}, false, 2, 2, 1},
		{"at a review", "core__asks", func(r *rig) {
			r.records.onLook = func(n int) bool { return n == 1 }
			r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
		}, false, 1, 2, 1},
		{"at the request", "core__asks", func(r *rig) {
			r.records.onRequest = func(n int) bool { return n == 1 }
			r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
		}, false, 1, 2, 1},
		{"at the request, and settled there", "core__asks", func(r *rig) {
			r.records.onRequest = func(int) bool { return true }
			r.records.onAdmit = func(n int, row *admit.Record) {
				if n == 2 {
					row.Result = other
				}
			}
		}, true, 0, 2, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := rigOptions{policy: freePolicy}
			tool := tc.tool
			if tool == "core__asks" {
				o.policy, tool = "", "core__write"
			}
			r := newRig(t, o)
			tc.setup(r)
			result := r.run(call(tool, args))
			if got := result.Attempts == 5; got != tc.other || !result.OK {
				t.Errorf("got %+v", result)
			}
			if r.ran() != tc.runs || r.records.admits != tc.admits || r.records.settles != tc.settles {
				t.Errorf("%d runs, %d admits, %d settles", r.ran(), r.records.admits, r.records.settles)
			}
		})
	}
}

// busyOnce is a tool that asks for another attempt after a time, long enough that the gate is asked again.
func busyOnce(after time.Duration) func(run int) error {
	return func(run int) error {
		if run == 1 {
			return toolspec.RetryAfter(after, "busy")
		}
		return nil
	}
}

// TestLongRetryAsksTheGateAgain: after a wait of more than a minute between attempts,
// the gate judges the call again.
func TestLongRetryAsksTheGateAgain(t *testing.T) {
	const deny = "version: 1\ntenants: {acme: {allowedTools: [core__other]}}\n"
	for name, tc := range map[string]struct {
		delay time.Duration
		code  toolspec.Code
	}{"a minute": {time.Minute, ""}, "longer": {time.Minute + time.Second, toolspec.CodePolicyDenied}} {
		r := newRig(t, rigOptions{policy: freePolicy, fail: func(run int) error {
			if run == 1 {
				return toolspec.RetryAfter(tc.delay, "busy")
			}
			return nil
		}})
		r.env.RegisterDelayedCallback(func() { r.activate(deny) }, 30*time.Second)
		if result := r.run(call("core__remote", args)); result.ErrorCode != tc.code {
			t.Errorf("%s: got %+v", name, result)
		}
	}
}
