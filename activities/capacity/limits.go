package capacity

import (
	"context"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

const (
	// queueLook is the shortest interval at which a call in a queue asks for its slot. A call gets a signal when it gets
	// a slot, but also asks without a signal. The interval grows with the number of calls ahead and with the number of
	// rounds, so that a wait of days does not fill the history.
	queueLook = 10 * time.Second
	// The interval is at least queueStep for each call ahead, up to queueLookFar.
	queueStep    = 500 * time.Millisecond
	queueLookFar = time.Minute
	// The interval is at least queueLook for each queueRounds rounds, up to queueLookOld. queueLookOld is shorter than HoldTime,
	// because each question renews the slots that the call has while it waits for others.
	queueRounds  = 6
	queueLookOld = HoldTime - time.Minute
	// busyRetry is the retryAfter of a full semaphore. The time until a slot is free is not known.
	busyRetry = time.Second
)

// Limits returns the steps that take tokens of quotas and slots of semaphores. slotTimes remembers
// when this process asked for slots.
func Limits(policies judge.Policies, store Store, slotTimes *SlotTimes) stage.Table {
	l := &limits{policies: policies, store: store, slotTimes: slotTimes}
	return stage.Table{
		hook.WillAcquireQuota.Stage():     {Before: l.takeTokens},
		hook.WillAcquireSemaphore.Stage(): {Before: l.takeSlots},
	}
}

type limits struct {
	policies  judge.Policies
	store     Store
	slotTimes *SlotTimes
}

// limitsOf returns the limits of policy that apply to a call: either the quotas, or the limits of
// concurrent calls.
func (l *limits) limitsOf(ctx context.Context, f hook.Facts, quotas bool) ([]policy.Limit, error) {
	p, err := l.policies.Policy(ctx, f.PolicyDigest)
	if err != nil {
		return nil, err
	}
	var limits []policy.Limit
	for _, limit := range p.Limits(judge.LimitFacts(f)) {
		if (limit.Tokens > 0) == quotas {
			limits = append(limits, limit)
		}
	}
	return limits, nil
}

func (l *limits) takeTokens(ctx context.Context, in hook.StageInput) (hook.Verdict, error) {
	f := in.Facts
	limits, err := l.limitsOf(ctx, f, true)
	if err != nil || len(limits) == 0 {
		return hook.Verdict{}, err
	}
	row := TokensRow{InvocationID: f.InvocationID, TenantID: f.Context.TenantID, Epoch: f.Epoch, Round: f.Round}
	for _, limit := range limits {
		b := Bucket{Key: limit.Key, Tokens: limit.Tokens, Every: limit.Every}
		if limit.Wait {
			// A token that arrives after the deadline of the call would be wasted.
			b.MaxWait = maxWait(limit, time.Duration(f.RemainingMs)*time.Millisecond)
		}
		row.Buckets = append(row.Buckets, b)
	}
	answer, err := l.store.TakeTokens(ctx, row)
	if err != nil {
		return hook.Verdict{}, err
	}
	limit := limitWithKey(limits, answer.Key)
	reason := fmt.Sprintf("the quota of %d every %s is used up", limit.Tokens, document.Brief(limit.Every))
	switch answer.State {
	case Superseded:
		return stage.Superseded(), nil
	case Refused:
		return stage.Failed(hook.Failure{
			Code: toolspec.CodeRateLimited, SafeMessage: reason, RetryAfterMs: max(answer.After, time.Millisecond).Milliseconds(),
			Details: &toolspec.Details{Rule: limit.Source},
		}), nil
	case Taken, Waiting:
	}
	if answer.After <= 0 {
		return hook.Verdict{}, nil
	}
	ms := max(answer.After.Milliseconds(), 1)
	return stage.Waits(hook.Wait{
		Reason: reason, RetryMs: ms, DeadlineMs: limit.WaitFor.Milliseconds(), Code: toolspec.CodeRateLimited, RetryAfterMs: ms,
	}), nil
}

func (l *limits) takeSlots(ctx context.Context, in hook.StageInput) (hook.Verdict, error) {
	asked, f := time.Now(), in.Facts
	limits, err := l.limitsOf(ctx, f, false)
	if err != nil {
		return hook.Verdict{}, err
	}
	// In a later round the call may be in the queue of a limit that policy no longer has. Then TakeSlots must still
	// run, so that the call leaves the queue.
	if len(limits) == 0 && f.Round == 1 {
		l.slotTimes.Remember(f.InvocationID, asked)
		return hook.Verdict{}, nil
	}
	row := SlotsRow{InvocationID: f.InvocationID, TenantID: f.Context.TenantID, Epoch: f.Epoch, Round: f.Round}
	for _, limit := range limits {
		row.Slots = append(row.Slots, Slot{Key: limit.Key, Most: limit.Concurrent, Wait: limit.Wait})
	}
	answer, err := l.store.TakeSlots(ctx, row)
	if err != nil {
		return hook.Verdict{}, err
	}
	limit := limitWithKey(limits, answer.Key)
	reason := fmt.Sprintf("%d calls run, and no more may at once", limit.Concurrent)
	switch answer.State {
	case Superseded:
		return stage.Superseded(), nil
	case Refused:
		return stage.Failed(hook.Failure{
			Code: toolspec.CodeCapacity, SafeMessage: reason, RetryAfterMs: busyRetry.Milliseconds(), Details: &toolspec.Details{Rule: limit.Source},
		}), nil
	case Taken:
		l.slotTimes.Remember(f.InvocationID, asked)
		return hook.Verdict{}, nil
	case Waiting:
	}
	far := min(time.Duration(answer.Ahead)*queueStep, queueLookFar)
	old := min(queueLook*time.Duration(f.Round/queueRounds), queueLookOld)
	look := max(queueLook, far, old)
	return stage.Waits(hook.Wait{
		Reason:  fmt.Sprintf("%s; %d calls are ahead", reason, answer.Ahead),
		RetryMs: look.Milliseconds(), DeadlineMs: limit.WaitFor.Milliseconds(),
		Code: toolspec.CodeCapacity, RetryAfterMs: busyRetry.Milliseconds(),
	}), nil
}

// maxWait returns how long a call may wait for a limit.
func maxWait(l policy.Limit, remaining time.Duration) time.Duration {
	if l.WaitFor > 0 {
		return min(l.WaitFor, remaining)
	}
	return remaining
}

// limitWithKey returns the limit with the key, or a zero limit.
func limitWithKey(limits []policy.Limit, key string) policy.Limit {
	for _, l := range limits {
		if l.Key == key {
			return l
		}
	}
	return policy.Limit{}
}
