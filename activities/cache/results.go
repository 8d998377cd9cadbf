package cache

import (
	"context"
	"encoding/json"
	"time"
)

// Results keeps the values of read-only calls for later calls. Settle writes them.
type Results interface {
	// Lookup returns the value of a key. If the cache has no value, one call runs the tool, and the other calls
	// wait for its value. If a call asks again, it still runs the tool, or still waits. An error marked
	// errs.Transient means that the store is not available.
	Lookup(ctx context.Context, in LookupRow) (Finding, error)
}

// LookupRow asks for a value on behalf of a call.
type LookupRow struct {
	InvocationID string
	TenantID     string
	Epoch        int
	Round        int
	// Key is the digest of everything on which the value depends.
	Key string
	// Lease is the time after which another call may get the value, if this call has not
	// ended.
	Lease time.Duration
}

// Finding is the result of a lookup. Superseded says that a newer run owns the call, so this run must
// stop. Value is the cached value. InFlight says that another call runs the tool; Remaining is the time
// until this call may run it instead. The zero value means that this call must run the tool.
type Finding struct {
	Superseded bool
	Value      json.RawMessage
	InFlight   bool
	Remaining  time.Duration
}
