package hooks_test

import (
	"context"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/hooks"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// capacity answers as a test says, and keeps what it was asked. The real one has its tests in internal/postgres.
type capacity struct {
	answer hooks.CapacityAnswer
	tokens []hooks.TokensRow
	places []hooks.PlacesRow
}

func (c *capacity) TakeTokens(_ context.Context, in hooks.TokensRow) (hooks.CapacityAnswer, error) {
	c.tokens = append(c.tokens, in)
	return c.answer, nil
}

func (c *capacity) TakePlaces(_ context.Context, in hooks.PlacesRow) (hooks.CapacityAnswer, error) {
	c.places = append(c.places, in)
	return c.answer, nil
}

const limited = `    limits:
      - {tool: core__tool, quota: {tokens: 3, every: 30s}}
      - {tool: "core__*", per: [actor], quota: {tokens: 9, every: 1h}, then: wait, waitFor: 90s}
      - {tool: core__tool, concurrent: 2, per: [connection], then: wait, waitFor: 5m}
      - {tool: core__tool, concurrent: 8}
`

const (
	toolQuota  = `["core__tool","every 30s"]`
	actorQuota = `["core__*","every 1h0m0s","actor","user:ann"]`
	toolPlace  = `["core__tool","concurrent","connection","c-1"]`
	allPlaces  = `["core__tool","concurrent"]`
)

// TestLimitHooks: what the hooks ask for, and what they make of the answer.
func TestLimitHooks(t *testing.T) {
	const quota, semaphore = hook.Stage("willAcquireQuota"), hook.Stage("willAcquireSemaphore")
	retry := func(code toolspec.Code, ms int64, rule string) *hook.Failure {
		return &hook.Failure{Code: code, RetryAfterMs: ms, Details: &toolspec.Details{Rule: rule}}
	}
	for _, tc := range []struct {
		name    string
		stage   hook.Stage
		answer  hooks.CapacityAnswer
		outcome hook.Outcome
		failure *hook.Failure
		wait    *hook.Wait
	}{
		{"tokens", quota, hooks.CapacityAnswer{State: "done", Key: toolQuota}, "", nil, nil},
		{"no token", quota, hooks.CapacityAnswer{State: "refused", Key: toolQuota, After: 1234 * time.Millisecond}, hook.Failed,
			retry(toolspec.CodeRateLimited, 1234, "tenants.acme.limits[0]"), nil},
		{"a token later", quota, hooks.CapacityAnswer{State: "done", Key: actorQuota, After: 40 * time.Second}, hook.Waited, nil,
			&hook.Wait{RetryMs: 40_000, DeadlineMs: 90_000, Code: toolspec.CodeRateLimited, RetryAfterMs: 40_000}},
		{"a stale run asks for tokens", quota, hooks.CapacityAnswer{State: "superseded"}, hook.Superseded, nil, nil},
		{"a place", semaphore, hooks.CapacityAnswer{State: "done"}, "", nil, nil},
		{"no place", semaphore, hooks.CapacityAnswer{State: "refused", Key: allPlaces}, hook.Failed, retry(toolspec.CodeCapacity, 1000, "tenants.acme.limits[3]"), nil},
		{"a queue", semaphore, hooks.CapacityAnswer{State: "waiting", Key: toolPlace}, hook.Waited, nil,
			&hook.Wait{RetryMs: 10_000, DeadlineMs: 300_000, Code: toolspec.CodeCapacity, RetryAfterMs: 1000}},
		{"a long queue", semaphore, hooks.CapacityAnswer{State: "waiting", Key: toolPlace, Ahead: 5000}, hook.Waited, nil,
			&hook.Wait{RetryMs: 60_000, DeadlineMs: 300_000, Code: toolspec.CodeCapacity, RetryAfterMs: 1000}},
		{"a stale run asks for a place", semaphore, hooks.CapacityAnswer{State: "superseded"}, hook.Superseded, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &capacity{answer: tc.answer}
			v := limit(t, c, limited, tc.stage, 4)
			if v.Outcome != tc.outcome || (v.Failure == nil) != (tc.failure == nil) || (v.Wait == nil) != (tc.wait == nil) {
				t.Fatalf("got %+v", v)
			}
			if f := v.Failure; f != nil {
				if f.SafeMessage == "" || f.Code != tc.failure.Code || f.RetryAfterMs != tc.failure.RetryAfterMs || f.Details.Rule != tc.failure.Details.Rule {
					t.Errorf("failed with %+v", f)
				}
			}
			if w := v.Wait; w != nil {
				tc.wait.Reason = w.Reason
				if *w != *tc.wait || w.Reason == "" {
					t.Errorf("waits with %+v", w)
				}
			}
			if tc.stage == quota {
				want := []hooks.TokensRow{{InvocationID: "inv", TenantID: "acme", Epoch: 7, Round: 4, Buckets: []hooks.Bucket{
					{Key: toolQuota, Tokens: 3, Every: 30 * time.Second},
					{Key: actorQuota, Tokens: 9, Every: time.Hour, Patience: time.Minute}, // what is left of the call is shorter
				}}}
				if !reflect.DeepEqual(c.tokens, want) || c.places != nil {
					t.Errorf("asked for %+v", c.tokens)
				}
				return
			}
			want := []hooks.PlacesRow{{InvocationID: "inv", TenantID: "acme", Epoch: 7, Round: 4, Places: []hooks.Place{
				{Key: toolPlace, Most: 2, Wait: true}, {Key: allPlaces, Most: 8},
			}}}
			if !reflect.DeepEqual(c.places, want) || c.tokens != nil {
				t.Errorf("asked for %+v", c.places)
			}
		})
	}
}

// TestLongQueue: who has looked often looks less often, and within the time that its place in the queue is kept.
func TestLongQueue(t *testing.T) {
	for round, want := range map[int]int64{1: 10_000, 11: 10_000, 12: 20_000, 60: 100_000, 180: 300_000, 100_000: 300_000} {
		c := &capacity{answer: hooks.CapacityAnswer{State: hooks.CapacityWaiting, Key: toolPlace, Ahead: 2}}
		if v := limit(t, c, limited, "willAcquireSemaphore", round); v.Wait == nil || v.Wait.RetryMs != want {
			t.Errorf("in round %d: %+v, want a look after %d ms", round, v.Wait, want)
		}
	}
}

// TestLimitHooksOfNoLimit: nothing is asked, except to leave the queues that an earlier round may stand in.
func TestLimitHooksOfNoLimit(t *testing.T) {
	for round, want := range map[int]int{1: 0, 2: 1} {
		c := &capacity{answer: hooks.CapacityAnswer{State: hooks.CapacityTaken}}
		for _, s := range []hook.Stage{"willAcquireQuota", "willAcquireSemaphore"} {
			if v := limit(t, c, "", s, round); v.Outcome != hook.Continue {
				t.Errorf("%s: got %+v", s, v)
			}
		}
		if len(c.tokens) != 0 || len(c.places) != want || want > 0 && len(c.places[0].Places) != 0 {
			t.Errorf("in round %d it asked for %+v and %+v", round, c.tokens, c.places)
		}
	}
}

// TestPolicyNeedsCapacity: the gate has the stages of limits run for the calls that have some, and for no others.
func TestPolicyNeedsCapacity(t *testing.T) {
	const quota, semaphore = hook.Stage("willAcquireQuota"), hook.Stage("willAcquireSemaphore")
	for limits, want := range map[string][]hook.Stage{
		"": nil,
		"    limits: [{tool: core__other, concurrent: 1}]\n":                nil,
		"    limits: [{tool: core__tool, concurrent: 1}]\n":                 {semaphore},
		"    limits: [{tool: core__tool, quota: {tokens: 1, every: 1h}}]\n": {quota},
		limited: {quota, semaphore},
	} {
		for _, s := range []hook.Stage{"willAuthorize", "willCheckConsent"} {
			if v, _ := gate(t, parse(t, approvals+limits), s, nil); !reflect.DeepEqual(v.Delta.Needs, want) {
				t.Errorf("%s with %q needs %v, want %v", s, limits, v.Delta.Needs, want)
			}
		}
	}
}

// limit runs the hook at a stage of limits.
func limit(t *testing.T, c *capacity, limits string, s hook.Stage, round int) hook.Verdict {
	t.Helper()
	p := parse(t, limits)
	r, err := hook.NewRegistry(slog.New(slog.DiscardHandler), hooks.Limits(policies{p.Digest(): p}, c), nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := r.Run(t.Context(), hook.StageInput{Stage: s, Hooks: r.Names(s, "core__tool"), Facts: hook.Facts{
		InvocationID: "inv", ToolID: "core__tool", PolicyDigest: p.Digest(), Epoch: 7, Round: round, RemainingMs: 60_000,
		Context: toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "user:ann", ConnectionID: "c-1"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}
