package capacity

import (
	"context"
	"time"
)

// Store keeps the quotas and semaphores of all workers. Each method is one guarded write
// that names the invocation and its epoch. An error marked errs.Transient means that the
// store is not available.
type Store interface {
	// TakeTokens takes one token from every bucket, or none. A call that has taken tokens
	// keeps them in later rounds.
	TakeTokens(ctx context.Context, in TokensRow) (Answer, error)
	// TakeSlots takes one slot of every semaphore in in.Slots. If a semaphore has no free slot, the call joins the
	// queues of the semaphores or, if Wait is not set for this semaphore, is refused and takes nothing. With empty
	// in.Slots, the call leaves its queues.
	TakeSlots(ctx context.Context, in SlotsRow) (Answer, error)
}

// TokensRow asks for tokens.
type TokensRow struct {
	InvocationID string
	TenantID     string
	Epoch, Round int
	Buckets      []Bucket
}

// Bucket holds Tokens at most, and fills from empty to full in Every.
type Bucket struct {
	Key    string
	Tokens int64
	Every  time.Duration
	// MaxWait is how long the call may wait for the token that it takes now; 0 takes only
	// a token that is available.
	MaxWait time.Duration
}

// SlotsRow asks for slots.
type SlotsRow struct {
	InvocationID string
	TenantID     string
	Epoch, Round int
	Slots        []Slot
}

// Slot asks for one slot of a semaphore. The semaphore has Most slots.
type Slot struct {
	Key  string
	Most int
	// Wait lets the call join the queue.
	Wait bool
}

// State says whether a call has got its tokens or slots.
type State string

// The states.
const (
	Taken      State = "done"
	Waiting    State = "waiting"
	Refused    State = "refused"
	Superseded State = "superseded"
)

// Answer says whether a call has got its tokens or slots, and for which limit it must wait longest.
type Answer struct {
	State State
	// Key names the bucket or semaphore with the longest wait.
	Key string
	// After is the time until the token is available.
	After time.Duration
	// Ahead is the number of calls that are ahead in the queue.
	Ahead int
}
