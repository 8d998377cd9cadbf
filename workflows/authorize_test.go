package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/authz/authztest"
	"github.com/pawl-run/pawl/toolspec"
)

// TestAuthorizedAgain: each run of the gate asks the authorization engine. If the engine denies the call after an approval, the call
// ends.
func TestAuthorizedAgain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		tool   string
		denies int // the number of the first question that the engine denies; 0 = none
		asked  int
		runs   int
		code   toolspec.Code
	}{
		{"a read", "core__read", 0, 1, 1, ""},
		{"a read that nobody may", "core__read", 1, 1, 0, toolspec.CodeAuthzDenied},
		{"approved", "core__write", 0, 2, 1, ""},
		{"approved, and denied by then", "core__write", 2, 2, 0, toolspec.CodeAuthzDenied},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			r := newRig(t, rigOptions{engine: authztest.New(func(context.Context, authz.Request) (authz.Decision, error) {
				if asked++; tc.denies > 0 && asked >= tc.denies {
					return authz.Deny(authz.Permission), nil
				}
				return authz.Allow(), nil
			})})
			r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
			got := r.run(call(tc.tool, `{"text":"hello"}`))
			if got.ErrorCode != tc.code || got.OK != (tc.code == "") || asked != tc.asked || r.ran() != tc.runs {
				t.Errorf("got %+v after %d questions and %d runs", got, asked, r.ran())
			}
		})
	}
}

// TestEngineStaysAway: if the engine gives no answer until the deadline, the call ends with unavailable, and the tool does not run.
func TestEngineStaysAway(t *testing.T) {
	t.Parallel()
	asked := 0
	r := newRig(t, rigOptions{engine: authztest.New(func(context.Context, authz.Request) (authz.Decision, error) {
		asked++
		return authz.Allow(), errors.New("down")
	})})
	if got := r.run(call("core__read", `{"text":"hello"}`)); got.ErrorCode != toolspec.CodeUnavailable || asked < 3 || r.ran() != 0 {
		t.Errorf("got %+v after %d questions and %d runs", got, asked, r.ran())
	}
}
