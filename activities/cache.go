package activities

import (
	"context"
	"encoding/json"
	"time"
)

// Results keeps values of reads for calls that come later. Settle writes them.
type Results interface {
	// Lookup finds the value under a key. Where there is none, the call takes off
	// in the single flight for it, or waits for the one that did. A call that asks
	// again keeps its place. hook.Transient marks a store that is away.
	Lookup(ctx context.Context, in LookupRow) (Finding, error)
}

// LookupRow asks for a value on behalf of a call.
type LookupRow struct {
	InvocationID string
	TenantID     string
	Epoch        int
	Round        int
	// Key is the digest of everything that the value depends on.
	Key string
	// Lease is after what time another call may take off, should this one not
	// have landed.
	Lease time.Duration
}

// Finding is what a lookup comes to: Superseded, a Value, Flies with somebody
// else in the air for another Remaining, or none of these, where this call is to
// get the value.
type Finding struct {
	Superseded bool
	Value      json.RawMessage
	Flies      bool
	Remaining  time.Duration
}
