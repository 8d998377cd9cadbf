package hooks

import (
	"context"
	"time"
)

// Capacity keeps quotas and semaphores for all workers. Every call is one guarded
// write that names invocation and epoch; an error that passes by itself is marked
// hook.Transient.
type Capacity interface {
	// TakeTokens takes one token of every bucket, or none. A call that took them
	// before has them, in whatever round.
	TakeTokens(ctx context.Context, in TokensRow) (CapacityAnswer, error)
	// TakePlaces takes a place at every semaphore or stands in its queue, or
	// neither anywhere. With no places it leaves the queues that the call stands in.
	TakePlaces(ctx context.Context, in PlacesRow) (CapacityAnswer, error)
}

// TokensRow asks for tokens.
type TokensRow struct {
	InvocationID string
	TenantID     string
	Epoch, Round int
	Buckets      []Bucket
}

// Bucket holds Tokens when it is full, and fills evenly in Every.
type Bucket struct {
	Key    string
	Tokens int64
	Every  time.Duration
	// Patience is how far ahead a token may be that the call takes now and waits
	// for; 0 takes only one that is there.
	Patience time.Duration
}

// PlacesRow asks for places.
type PlacesRow struct {
	InvocationID string
	TenantID     string
	Epoch, Round int
	Places       []Place
}

// Place is one at a semaphore of Most.
type Place struct {
	Key  string
	Most int
	// Wait lets the call stand in the queue.
	Wait bool
}

// CapacityState is what came of asking.
type CapacityState string

// What may come of it.
const (
	CapacityTaken      CapacityState = "done"
	CapacityWaiting    CapacityState = "waiting"
	CapacityRefused    CapacityState = "refused"
	CapacitySuperseded CapacityState = "superseded"
)

// CapacityAnswer is what came of asking, and what the call lacks most.
type CapacityAnswer struct {
	State CapacityState
	// Key names the bucket or the semaphore that keeps the call longest.
	Key string
	// After is when the token is there.
	After time.Duration
	// Ahead is how many stand before the call.
	Ahead int
}
