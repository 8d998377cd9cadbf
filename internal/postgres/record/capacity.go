package record

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/activities/capacity"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

const (
	// holdTime is for how long a place is a call's own without a word from it. A claim makes it as long as the attempt may run. Nobody waits
	// for it as a rule: calls end, and the sweeper ends those that cannot.
	holdTime = capacity.HoldTime
	// queueTime is the same for a place in the queue, where a call looks around every five minutes at the least.
	queueTime = 10 * time.Minute
	// sweptGrace is how long the tool of a call may run on whose workflow was ended from outside: until its next heartbeat is refused, and
	// a little longer.
	sweptGrace = 15 * time.Second
	// runsOn is what an attempt may take beyond its budget.
	runsOn = time.Minute
)

// tokensRow is the row of TakeTokens.
type tokensRow struct {
	Outcome capacity.State
	Key     string
	WaitMs  int64
}

// TakeTokens takes a token of every bucket, or of none.
func (s *Store) TakeTokens(ctx context.Context, in capacity.TokensRow) (capacity.Answer, error) {
	buckets := slices.SortedFunc(slices.Values(in.Buckets), func(a, b capacity.Bucket) int { return strings.Compare(a.Key, b.Key) })
	keys := db.Column(buckets, func(b capacity.Bucket) string { return db.Text(b.Key) })
	row, _, err := locked[tokensRow](ctx, s, "take tokens", in.InvocationID,
		db.Query("LockQuotas", db.Values{"invocation_id": in.InvocationID, "tenant_id": db.Text(in.TenantID), "epoch": in.Epoch, "temporal_run_id": executing(ctx), "keys": keys}),
		db.Query("TakeTokens", db.Values{
			"invocation_id": in.InvocationID, "tenant_id": db.Text(in.TenantID), "epoch": in.Epoch, "temporal_run_id": executing(ctx), "round": in.Round, "keys": keys,
			// Rounded down, so that a full bucket has all of its tokens.
			"costs":     db.Column(buckets, func(b capacity.Bucket) int64 { return b.Every.Microseconds() / max(b.Tokens, 1) }),
			"everys":    db.Column(buckets, func(b capacity.Bucket) int64 { return b.Every.Microseconds() }),
			"patiences": db.Column(buckets, func(b capacity.Bucket) int64 { return b.Patience.Microseconds() }),
		}))
	return capacity.Answer{State: row.Outcome, Key: row.Key, After: time.Duration(row.WaitMs) * time.Millisecond}, err
}

// placesRow is the row of TakePlaces.
type placesRow struct {
	Outcome capacity.State
	Key     string
	Ahead   int
}

// TakePlaces takes a place at every semaphore or stands in its queue, or neither anywhere.
func (s *Store) TakePlaces(ctx context.Context, in capacity.PlacesRow) (capacity.Answer, error) {
	places := slices.SortedFunc(slices.Values(in.Places), func(a, b capacity.Place) int { return strings.Compare(a.Key, b.Key) })
	keys := db.Column(places, func(p capacity.Place) string { return db.Text(p.Key) })
	row, _, err := locked[placesRow](ctx, s, "take places", in.InvocationID,
		db.Query("LockSemaphores", db.Values{"tenant_id": db.Text(in.TenantID), "keys": keys}),
		db.Query("TakePlaces", db.Values{
			"invocation_id": in.InvocationID, "tenant_id": db.Text(in.TenantID), "epoch": in.Epoch, "temporal_run_id": executing(ctx), "round": in.Round, "keys": keys,
			"mosts": db.Column(places, func(p capacity.Place) int { return p.Most }),
			"waits": db.Column(places, func(p capacity.Place) bool { return p.Wait }),
			"hold":  holdTime, "queue": queueTime,
		}))
	return capacity.Answer{State: row.Outcome, Key: row.Key, Ahead: row.Ahead}, err
}

// release is what settle and the sweeper run ahead of what settles a call: it gives back what the call has.
func release(invocationID string, epoch int, runID string, attempts int, grace time.Duration) []db.Step {
	return []db.Step{
		db.Query("LockCapacity", db.Values{"invocation_id": invocationID}),
		db.Query("Release", db.Values{"invocation_id": invocationID, "epoch": epoch, "temporal_run_id": runID, "attempts": attempts, "grace": grace, "hold": holdTime}),
	}
}

// expiredRow is the row of ReleaseExpired.
type expiredRow struct {
	Expired int
	Handed  int
}

// ReleaseExpired takes back places that expired, at up to most semaphores, hands them to who is next, and returns how many there were.
func (s *Store) ReleaseExpired(ctx context.Context, most int) (int, error) {
	row, _, err := db.Batched[expiredRow](ctx, s.db, "release expired",
		db.Query("LockExpired", db.Values{"batch": most}), db.Query("ReleaseExpired", db.Values{"hold": holdTime}))
	return row.Expired, err
}

// DeleteIdleCapacity deletes up to most rows each of full buckets and of semaphores that nobody uses, and returns how many.
func (s *Store) DeleteIdleCapacity(ctx context.Context, most int) (int, error) {
	full, err := s.db.Exec(ctx, "delete full quotas", db.Query("DeleteFullQuotas", db.Values{"batch": most}))
	if err != nil {
		return int(full), err
	}
	idle, err := s.db.Exec(ctx, "delete idle semaphores", db.Query("DeleteIdleSemaphores", db.Values{"batch": most}))
	return int(full + idle), err
}
