package hooks

import (
	"context"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

const (
	// A call in a queue looks for itself now and then, for whoever hands a place
	// over tells it: the less often the further behind it stands, and the more
	// often it has looked, so that a wait of days stays within a history.
	queueLook    = 10 * time.Second
	queueLookFar = time.Minute
	queueLookOld = 5 * time.Minute
	queueStep    = 500 * time.Millisecond
	queueRounds  = 6
	// busyRetry is advised where a semaphore is full: nobody knows when a place is
	// free.
	busyRetry = time.Second
)

// Limits are the hooks that hold calls to the limits of the policy: quota and
// semaphore. They stand on demand: a call without limits passes them by.
//
// What they take is given back when the call ends, by settle or the sweeper; no
// stage of a call has to run for that.
func Limits(policies activities.Policies, capacity Capacity) []hook.Hook {
	l := &limits{policies: policies, capacity: capacity}
	return []hook.Hook{
		hook.New("quota", hook.Builtin(), hook.OnDemand(), hook.WillAcquireQuota.Do(l.quota)),
		hook.New("semaphore", hook.Builtin(), hook.OnDemand(), hook.WillAcquireSemaphore.Do(l.semaphore)),
	}
}

type limits struct {
	policies activities.Policies
	capacity Capacity
}

// of returns the limits of a call: quotas, or numbers of calls at once.
func (l *limits) of(ctx context.Context, v *hook.Check, quotas bool) ([]policy.Limit, error) {
	p, err := l.policies.Policy(ctx, v.PolicyDigest())
	if err != nil {
		return nil, err
	}
	var of []policy.Limit
	for _, limit := range p.Limits(limitFacts(v)) {
		if (limit.Tokens > 0) == quotas {
			of = append(of, limit)
		}
	}
	return of, nil
}

// limitFacts is what limits go by.
func limitFacts(v interface {
	ToolID() string
	Context() toolspec.Context
},
) policy.Facts {
	return activities.PolicyFacts(hook.Facts{ToolID: v.ToolID(), Context: v.Context()}, false)
}

func (l *limits) quota(ctx context.Context, v *hook.Check) error {
	of, err := l.of(ctx, v, true)
	if err != nil || len(of) == 0 {
		return err
	}
	row := TokensRow{InvocationID: v.InvocationID(), TenantID: v.Context().TenantID, Epoch: v.Epoch(), Round: v.Round()}
	for _, limit := range of {
		b := Bucket{Key: limit.Key, Tokens: limit.Tokens, Every: limit.Every}
		if limit.Wait {
			// A token that comes after the call's end would be taken for nothing.
			b.Patience = patience(limit, v.Remaining())
		}
		row.Buckets = append(row.Buckets, b)
	}
	answer, err := l.capacity.TakeTokens(ctx, row)
	if err != nil {
		return err
	}
	limit := lacking(of, answer.Key)
	reason := fmt.Sprintf("the quota of %d every %s is used up", limit.Tokens, limit.Every)
	switch answer.State {
	case CapacitySuperseded:
		return hook.Stale()
	case CapacityRefused:
		return hook.Refuse(hook.Failure{
			Code: toolspec.CodeRateLimited, SafeMessage: reason, RetryAfterMs: max(answer.After, time.Millisecond).Milliseconds(),
			Details: &toolspec.Details{Rule: limit.Source},
		})
	case CapacityTaken, CapacityWaiting:
	}
	if answer.After <= 0 {
		return nil
	}
	ms := max(answer.After.Milliseconds(), 1)
	return hook.WaitFor(hook.Wait{
		Reason: reason, RetryMs: ms, DeadlineMs: limit.WaitFor.Milliseconds(), Code: toolspec.CodeRateLimited, RetryAfterMs: ms,
	})
}

func (l *limits) semaphore(ctx context.Context, v *hook.Check) error {
	of, err := l.of(ctx, v, false)
	// A call that asked before may stand in a queue for a limit that is no more.
	if err != nil || len(of) == 0 && v.Round() == 1 {
		return err
	}
	row := PlacesRow{InvocationID: v.InvocationID(), TenantID: v.Context().TenantID, Epoch: v.Epoch(), Round: v.Round()}
	for _, limit := range of {
		row.Places = append(row.Places, Place{Key: limit.Key, Most: limit.Concurrent, Wait: limit.Wait})
	}
	answer, err := l.capacity.TakePlaces(ctx, row)
	if err != nil {
		return err
	}
	limit := lacking(of, answer.Key)
	reason := fmt.Sprintf("%d calls run, and no more may at once", limit.Concurrent)
	switch answer.State {
	case CapacitySuperseded:
		return hook.Stale()
	case CapacityRefused:
		return hook.Refuse(hook.Failure{
			Code: toolspec.CodeCapacity, SafeMessage: reason, RetryAfterMs: busyRetry.Milliseconds(), Details: &toolspec.Details{Rule: limit.Source},
		})
	case CapacityTaken:
		return nil
	case CapacityWaiting:
	}
	far := min(time.Duration(answer.Ahead)*queueStep, queueLookFar)
	old := min(queueLook*time.Duration(v.Round()/queueRounds), queueLookOld)
	look := max(queueLook, far, old)
	return hook.WaitFor(hook.Wait{
		Reason:  fmt.Sprintf("%s; %d calls are ahead", reason, answer.Ahead),
		RetryMs: look.Milliseconds(), DeadlineMs: limit.WaitFor.Milliseconds(),
		Code: toolspec.CodeCapacity, RetryAfterMs: busyRetry.Milliseconds(),
	})
}

// patience is how long a call may wait for a limit.
func patience(l policy.Limit, remaining time.Duration) time.Duration {
	if l.WaitFor > 0 {
		return min(l.WaitFor, remaining)
	}
	return remaining
}

// lacking finds the limit that a key belongs to.
func lacking(of []policy.Limit, key string) policy.Limit {
	for _, l := range of {
		if l.Key == key {
			return l
		}
	}
	return policy.Limit{}
}
