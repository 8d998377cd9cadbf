package record

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/activities/capacity"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

const (
	// holdTime is how long a call keeps a slot without renewing it. Store.Claim, which starts an
	// attempt, renews the slots of the call for as long as the attempt may run, if that is longer.
	// Slots rarely expire: a call frees its slots when it ends, and the sweeper ends calls that
	// cannot end themselves.
	holdTime = capacity.HoldTime
	// queueTime is how long a call keeps its position in a queue without renewing it. A waiting
	// call renews it at least every four minutes.
	queueTime = 10 * time.Minute
	// sweptGrace is how long a slot stays taken after the call's workflow was ended from outside.
	// The tool may run until its next heartbeat is refused; the grace is a little longer.
	sweptGrace = 15 * time.Second
	// runsOn is how long an attempt may run beyond its budget. A claim adds it to the leases of
	// the call.
	runsOn = time.Minute
)

// tokensRow is a row of the statement TakeTokens.
type tokensRow struct {
	Outcome capacity.State
	Key     string
	WaitMs  int64
}

// TakeTokens takes one token from the bucket of each quota. It takes none if one of the tokens would be ready only after the MaxWait of its
// bucket. The answer names the bucket with the longest wait, and this wait.
func (s *Store) TakeTokens(ctx context.Context, in capacity.TokensRow) (capacity.Answer, error) {
	buckets := slices.SortedFunc(slices.Values(in.Buckets), func(a, b capacity.Bucket) int { return strings.Compare(a.Key, b.Key) })
	keys := db.Column(buckets, func(b capacity.Bucket) string { return db.Text(b.Key) })
	row, _, err := batchLocked[tokensRow](ctx, s, "take tokens", in.InvocationID,
		db.Query("LockQuotas", db.Values{"invocation_id": in.InvocationID, "tenant_id": db.Text(in.TenantID), "epoch": in.Epoch, "temporal_run_id": executing(ctx), "keys": keys}),
		db.Query("TakeTokens", db.Values{
			"invocation_id": in.InvocationID, "tenant_id": db.Text(in.TenantID), "epoch": in.Epoch, "temporal_run_id": executing(ctx), "round": in.Round, "keys": keys,
			// Rounded down, so that a full bucket has all of its tokens.
			"costs":     db.Column(buckets, func(b capacity.Bucket) int64 { return b.Every.Microseconds() / max(b.Tokens, 1) }),
			"everys":    db.Column(buckets, func(b capacity.Bucket) int64 { return b.Every.Microseconds() }),
			"max_waits": db.Column(buckets, func(b capacity.Bucket) int64 { return b.MaxWait.Microseconds() }),
		}))
	return capacity.Answer{State: row.Outcome, Key: row.Key, After: time.Duration(row.WaitMs) * time.Millisecond}, err
}

// slotsRow is a row of the statement TakeSlots.
type slotsRow struct {
	Outcome capacity.State
	Key     string
	Ahead   int
}

// TakeSlots takes a slot of each semaphore, or joins its queue. If one semaphore is full and the call may not wait for it, the call takes no
// slot and joins no queue. Before that, TakeSlots marks the expired slots of other calls as lost.
func (s *Store) TakeSlots(ctx context.Context, in capacity.SlotsRow) (capacity.Answer, error) {
	slots := slices.SortedFunc(slices.Values(in.Slots), func(a, b capacity.Slot) int { return strings.Compare(a.Key, b.Key) })
	keys := db.Column(slots, func(p capacity.Slot) string { return db.Text(p.Key) })
	row, _, err := batchLocked[slotsRow](ctx, s, "take slots", in.InvocationID,
		db.Query("LockSemaphores", db.Values{"tenant_id": db.Text(in.TenantID), "keys": keys}),
		db.Query("LapseSlots", db.Values{"invocation_id": in.InvocationID, "tenant_id": db.Text(in.TenantID), "epoch": in.Epoch, "temporal_run_id": executing(ctx), "keys": keys}),
		db.Query("TakeSlots", db.Values{
			"invocation_id": in.InvocationID, "tenant_id": db.Text(in.TenantID), "epoch": in.Epoch, "temporal_run_id": executing(ctx), "round": in.Round, "keys": keys,
			"mosts": db.Column(slots, func(p capacity.Slot) int { return p.Most }),
			"waits": db.Column(slots, func(p capacity.Slot) bool { return p.Wait }),
			"hold":  holdTime, "queue": queueTime,
		}))
	return capacity.Answer{State: row.Outcome, Key: row.Key, Ahead: row.Ahead}, err
}

// allRounds is the argument of release for all capacity of a call.
const allRounds = math.MaxInt32

// release returns the statements that give back the capacity that a call acquired in its rounds up
// to lastRound. Settle and Sweep run them before the statement that settles the call. A token returns
// to its bucket only if attempts is 0. If grace is not 0, a held slot stays taken for at most this time.
func release(invocationID string, epoch int, runID string, attempts, lastRound int, grace time.Duration) []db.Step {
	return []db.Step{
		db.Query("LockCapacity", db.Values{"invocation_id": invocationID}),
		db.Query("LapseReleased", db.Values{"invocation_id": invocationID, "epoch": epoch, "temporal_run_id": runID, "last_round": lastRound, "grace": grace}),
		db.Query("Release", db.Values{"invocation_id": invocationID, "epoch": epoch, "temporal_run_id": runID, "attempts": attempts, "last_round": lastRound, "grace": grace, "hold": holdTime}),
	}
}

// expiredRow is a row of the statement ReleaseExpired.
type expiredRow struct {
	Expired int
	Handed  int
}

// ReleaseExpired frees the expired slots of up to limit semaphores and gives them to the calls at
// the head of the queues. It returns the number of expired slots.
func (s *Store) ReleaseExpired(ctx context.Context, limit int) (int, error) {
	row, _, err := db.Batched[expiredRow](ctx, s.db, "release expired",
		db.Query("LockExpired", db.Values{"batch": limit}), db.Query("LapseExpired", db.Values{}), db.Query("ReleaseExpired", db.Values{"hold": holdTime}))
	return row.Expired, err
}

// DeleteIdleCapacity deletes up to limit full buckets and up to limit unused semaphores. It
// returns the number of deleted rows.
func (s *Store) DeleteIdleCapacity(ctx context.Context, limit int) (int, error) {
	full, err := s.db.Exec(ctx, "delete full quotas", db.Query("DeleteFullQuotas", db.Values{"batch": limit}))
	if err != nil {
		return int(full), err
	}
	idle, err := s.db.Exec(ctx, "delete idle semaphores", db.Query("DeleteIdleSemaphores", db.Values{"batch": limit}))
	return int(full + idle), err
}
