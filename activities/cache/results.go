package cache

import (
	"context"
	"encoding/json"
	"time"
)

// Results keeps the values of read-only calls for later calls. Settle writes them.
type Results interface {
	// Lookup returns the value of a key. If there is no value, the first call that asks must run the tool, and the
	// calls that ask after it must wait for its value. If the first call asks again within
	// in.Lease, it still must run the tool. An error marked errs.Transient means that the store is not available.
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
	// Lease is how long the other calls wait for the value if this call must run the tool. After this time another
	// call may run the tool.
	Lease time.Duration
}

// Finding is the result of a lookup. The zero value means that this call must run the tool.
type Finding struct {
	// Superseded says that another Temporal run owns the call now, so this run must stop.
	Superseded bool
	// Value is the cached value.
	Value json.RawMessage
	// InFlight says that another call runs the tool for the same value.
	InFlight bool
	// Remaining is the time until this call may run the tool instead of the other call.
	Remaining time.Duration
}
