package capacity_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/capacity"
	"github.com/pawl-run/pawl/activities/judge/judgetest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// store returns the answer of a test, and keeps the rows that it gets. internal/postgres tests the real store.
type store struct {
	answer capacity.Answer
	tokens []capacity.TokensRow
	slots  []capacity.SlotsRow
	// remembered has the times at which this process asked for slots.
	remembered capacity.SlotTimes
}

// leased is an attempt of the local lane that holds a slot.
var leased = contract.ExecuteIn{Facts: hook.Facts{InvocationID: "inv"}, LeasedAtMs: 1}

func (c *store) TakeTokens(_ context.Context, in capacity.TokensRow) (capacity.Answer, error) {
	c.tokens = append(c.tokens, in)
	return c.answer, nil
}

func (c *store) TakeSlots(_ context.Context, in capacity.SlotsRow) (capacity.Answer, error) {
	c.slots = append(c.slots, in)
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
	toolSlot   = `["core__tool","concurrent","connection","c-1"]`
	allSlots   = `["core__tool","concurrent"]`
)

// TestLimits: the rows that the steps send to the store, and the verdicts for its answers.
func TestLimits(t *testing.T) {
	const quota, semaphore = hook.Stage("willAcquireQuota"), hook.Stage("willAcquireSemaphore")
	retry := func(code toolspec.Code, ms int64, rule string) *hook.Failure {
		return &hook.Failure{Code: code, RetryAfterMs: ms, Details: &toolspec.Details{Rule: rule}}
	}
	for _, tc := range []struct {
		name    string
		stage   hook.Stage
		answer  capacity.Answer
		outcome hook.Outcome
		failure *hook.Failure
		wait    *hook.Wait
	}{
		{"tokens", quota, capacity.Answer{State: "done", Key: toolQuota}, "", nil, nil},
		{"no token", quota, capacity.Answer{State: "refused", Key: toolQuota, After: 1234 * time.Millisecond}, hook.Failed,
			retry(toolspec.CodeRateLimited, 1234, "tenants.acme.limits[0]"), nil},
		{"a token later", quota, capacity.Answer{State: "done", Key: actorQuota, After: 40 * time.Second}, hook.Waited, nil,
			&hook.Wait{RetryMs: 40_000, DeadlineMs: 90_000, Code: toolspec.CodeRateLimited, RetryAfterMs: 40_000}},
		{"a stale run asks for tokens", quota, capacity.Answer{State: "superseded"}, hook.Superseded, nil, nil},
		{"a place", semaphore, capacity.Answer{State: "done"}, "", nil, nil},
		{"no place", semaphore, capacity.Answer{State: "refused", Key: allSlots}, hook.Failed, retry(toolspec.CodeCapacity, 1000, "tenants.acme.limits[3]"), nil},
		{"a queue", semaphore, capacity.Answer{State: "waiting", Key: toolSlot}, hook.Waited, nil,
			&hook.Wait{RetryMs: 10_000, DeadlineMs: 300_000, Code: toolspec.CodeCapacity, RetryAfterMs: 1000}},
		{"a long queue", semaphore, capacity.Answer{State: "waiting", Key: toolSlot, Ahead: 5000}, hook.Waited, nil,
			&hook.Wait{RetryMs: 60_000, DeadlineMs: 300_000, Code: toolspec.CodeCapacity, RetryAfterMs: 1000}},
		{"a stale run asks for a place", semaphore, capacity.Answer{State: "superseded"}, hook.Superseded, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &store{answer: tc.answer}
			v := limit(t, c, limited, tc.stage, 4)
			if has := !c.remembered.Expired(leased); has != (tc.name == "a place") {
				t.Errorf("the process remembers a place: %t", has)
			}
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
				want := []capacity.TokensRow{{InvocationID: "inv", TenantID: "acme", Epoch: 7, Round: 4, Buckets: []capacity.Bucket{
					{Key: toolQuota, Tokens: 3, Every: 30 * time.Second},
					{Key: actorQuota, Tokens: 9, Every: time.Hour, MaxWait: time.Minute}, // the remaining time of the call is shorter than the wait of the limit
				}}}
				if !reflect.DeepEqual(c.tokens, want) || c.slots != nil {
					t.Errorf("asked for %+v", c.tokens)
				}
				return
			}
			want := []capacity.SlotsRow{{InvocationID: "inv", TenantID: "acme", Epoch: 7, Round: 4, Slots: []capacity.Slot{
				{Key: toolSlot, Most: 2, Wait: true}, {Key: allSlots, Most: 8},
			}}}
			if !reflect.DeepEqual(c.slots, want) || c.tokens != nil {
				t.Errorf("asked for %+v", c.slots)
			}
		})
	}
}

// TestLongQueue: a call that has asked often asks less often, but within the time for which it keeps its place in the
// queue and the slots that it has at other semaphores.
func TestLongQueue(t *testing.T) {
	for round, want := range map[int]int64{1: 10_000, 11: 10_000, 12: 20_000, 60: 100_000, 144: 240_000, 100_000: 240_000} {
		c := &store{answer: capacity.Answer{State: capacity.Waiting, Key: toolSlot, Ahead: 2}}
		if v := limit(t, c, limited, "willAcquireSemaphore", round); v.Wait == nil || v.Wait.RetryMs != want {
			t.Errorf("in round %d: %+v, want a look after %d ms", round, v.Wait, want)
		}
		if hold := capacity.HoldTime.Milliseconds(); want > hold-30_000 {
			t.Errorf("in round %d a look after %d ms is too late for slots that expire after %d ms", round, want, hold)
		}
	}
}

// TestStepsOfNoLimit: a call without a limit sends nothing to the store, except to leave the queues of an
// earlier round.
func TestStepsOfNoLimit(t *testing.T) {
	for round, want := range map[int]int{1: 0, 2: 1} {
		c := &store{answer: capacity.Answer{State: capacity.Taken}}
		for _, s := range []hook.Stage{"willAcquireQuota", "willAcquireSemaphore"} {
			if v := limit(t, c, "", s, round); v.Outcome != hook.Continue {
				t.Errorf("%s: got %+v", s, v)
			}
		}
		if len(c.tokens) != 0 || len(c.slots) != want || want > 0 && len(c.slots[0].Slots) != 0 {
			t.Errorf("in round %d it asked for %+v and %+v", round, c.tokens, c.slots)
		}
	}
}

// limit runs the step of a stage under these limits.
func limit(t *testing.T, c *store, limits string, s hook.Stage, round int) hook.Verdict {
	t.Helper()
	p := judgetest.Parse(t, limits)
	steps := capacity.Limits(judgetest.Policies{p.Digest(): p}, c, &c.remembered)
	v, err := steps[s].Before(t.Context(), hook.StageInput{Stage: s, Facts: hook.Facts{
		InvocationID: "inv", ToolID: "core__tool", PolicyDigest: p.Digest(), Epoch: 7, Round: round, RemainingMs: 60_000,
		Context: toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "user:ann", ConnectionID: "c-1"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}
