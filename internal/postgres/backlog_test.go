package postgres_test

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/capacity"
)

// TestCapacityBacklog: a call that waits for capacity counts once for each reason, while it waits and is open. Calls that have their capacity, calls
// of another namespace and calls that have lost their place in the queue do not count.
func TestCapacityBacklog(t *testing.T) {
	b := open(t)
	for _, call := range []string{"1", "2", "3", "4"} {
		b.admit(call)
	}
	b.sql(`UPDATE invocations SET namespace = 'n'`)
	counts := func(namespace string, most int, quota, places, shared int64) {
		t.Helper()
		if got, err := b.Backlogs(t.Context(), namespace, most); err != nil || got.Quota != quota || got.Places != places || got.Shared != shared {
			t.Errorf("%d wait for a quota, %d for a place, %d for a value, want %d, %d, %d; %v", got.Quota, got.Places, got.Shared, quota, places, shared, err)
		}
	}
	s, other := slot("s", 1), slot("other", 1)
	b.wantSlot("1", 1, capacity.Taken, 0, s, other)
	q, r := bucket("q", 1, time.Hour, 24*time.Hour), bucket("r", 1, time.Hour, 24*time.Hour)
	b.tokens("1", 1, q, r)
	b.lookup(lookupRow("1"))
	counts("n", 100, 0, 0, 0)
	for _, call := range []string{"2", "3"} {
		b.slots(call, 1, s, other) // they wait for two places each
		b.tokens(call, 1, q, r)
	}
	b.lookup(lookupRow("4"))
	counts("n", 100, 2, 2, 1)
	counts("n", 1, 1, 1, 0) // bounded
	counts("elsewhere", 100, 0, 0, 0)
	b.sql(`UPDATE leases SET expires_at = now() - interval '1 second' WHERE invocation_id = $1`, id("2"))
	counts("n", 100, 2, 1, 1)
	b.sql(`UPDATE debits SET ready_at = now() WHERE invocation_id = $1`, id("2"))
	counts("n", 100, 1, 1, 1)
	b.ends("3", 1, 0)
	counts("n", 100, 0, 0, 1)
}
