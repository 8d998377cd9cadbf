package postgres_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/cache"
	"github.com/pawl-run/pawl/activities/capacity"
	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

const cacheKey = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func lookupRow(call string) cache.LookupRow {
	return cache.LookupRow{InvocationID: id(call), TenantID: tenant, Epoch: 1, Round: 1, Key: cacheKey, Lease: time.Hour}
}

func (b bench) lookup(row cache.LookupRow) cache.Finding {
	b.t.Helper()
	found, err := b.Lookup(own(b.t), row)
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

// holding returns the settle of a call that gives back what it has, such as its part in a flight: the single run of a tool for several calls with the
// same key of the cache.
func holding(call string) contract.SettleIn {
	in := settleIn(call, 1)
	in.Holds = true
	return in
}

// keeps returns the settle of a call with a value for the cache.
func keeps(call, value string, tags ...string) contract.SettleIn {
	in := holding(call)
	in.Kept = &contract.Kept{Entry: hook.CacheEntry{Key: cacheKey, TTLMs: 3_600_000, Tags: tags}, Value: json.RawMessage(value)}
	return in
}

// countLeases counts the leases of flights in a state.
func (b bench) countLeases(state string) int {
	b.t.Helper()
	return value[int](b, `SELECT count(*) FROM leases WHERE kind = 'single_flight' AND state = $1`, state)
}

// TestFlight: the first call gets the flight, which means that it alone runs the tool. The other calls wait, get a recheck when it settles, and find its
// value.
func TestFlight(t *testing.T) {
	b := open(t)
	for _, call := range []string{"first", "second", "third"} {
		b.admit(call)
	}
	b.trips.Store(0)
	if found := b.lookup(lookupRow("first")); found.InFlight || found.Value != nil || found.Superseded {
		t.Errorf("the first found %+v", found)
	}
	if n := b.trips.Load(); n != 1 {
		t.Errorf("a lookup takes %d round trips", n)
	}
	for _, call := range []string{"third", "second", "third"} {
		if found := b.lookup(lookupRow(call)); !found.InFlight || found.Value != nil || found.Remaining <= 50*time.Minute || found.Remaining > time.Hour {
			t.Errorf("%s found %+v", call, found)
		}
	}
	if found := b.lookup(lookupRow("first")); found.InFlight || b.countLeases("held") != 1 || b.countLeases("waiting") != 2 {
		t.Errorf("who flies and asks again found %+v; %d fly and %d wait", found, b.countLeases("held"), b.countLeases("waiting"))
	}
	// A flight is no place of a semaphore: who does not have it may still begin.
	row := claimRow("second", 1, 1)
	row.Repeatable = true
	if got := b.claim(row); got != contract.Done {
		t.Errorf("the second claimed with %s", got)
	}
	b.settle(keeps("first", `{"text":"one"}`))
	b.wantRechecks("second", "third")
	for _, call := range []string{"second", "third"} {
		if found := b.lookup(lookupRow(call)); string(found.Value) != `{"text":"one"}` {
			t.Errorf("%s found %+v", call, found)
		}
		b.settle(holding(call))
	}
	if left := value[int](b, `SELECT count(*) FROM leases`); left != 0 {
		t.Errorf("%d leases are left", left)
	}
	b.wantRechecks()
}

// TestFlightWithoutAValue: when a call settles without a value for the cache, or is swept, the next call that asks gets the flight.
func TestFlightWithoutAValue(t *testing.T) {
	for name, land := range map[string]func(b bench){
		"settled": func(b bench) {
			b.settle(holding("first"))
		},
		"swept": func(b bench) {
			b.sql(`UPDATE invocations SET namespace = 'ns'`)
			if code, err := b.Sweep(b.t.Context(), upkeep.SweepRow{
				InvocationID: id("first"), Namespace: "ns", RunID: ownRun, Epoch: 1, Cause: upkeep.OwnerTerminated, Code: toolspec.CodeCancelled,
			}); err != nil || code == "" {
				b.t.Fatal(code, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			for _, call := range []string{"first", "second", "third"} {
				b.admit(call)
				b.lookup(lookupRow(call))
			}
			land(b)
			b.wantRechecks("second", "third")
			if found := b.lookup(lookupRow("third")); found.InFlight || found.Value != nil {
				t.Errorf("the third found %+v", found)
			}
			if found := b.lookup(lookupRow("second")); !found.InFlight {
				t.Errorf("the second found %+v", found)
			}
		})
	}
}

// TestFlightLost: a call whose flight has expired by the clock of the database loses it to the first call that asks. If its value comes later, the value is
// stored in spite of that.
func TestFlightLost(t *testing.T) {
	b := open(t)
	for _, call := range []string{"first", "second", "third"} {
		b.admit(call)
		b.lookup(lookupRow(call))
	}
	b.sql(`UPDATE leases SET expires_at = now() WHERE invocation_id = $1`, id("first"))
	if found := b.lookup(lookupRow("second")); found.InFlight {
		t.Errorf("the second found %+v", found)
	}
	if found := b.lookup(lookupRow("third")); !found.InFlight {
		t.Errorf("the third found %+v", found)
	}
	b.settle(keeps("first", `{"text":"late"}`))
	b.wantRechecks("third")
	if found := b.lookup(lookupRow("third")); string(found.Value) != `{"text":"late"}` {
		t.Errorf("the third found %+v", found)
	}
}

// TestLookupIsGuarded: a lookup with an older epoch, of a settled call, or of a call of another tenant finds no value, and does
// not make its call the call that runs the tool for the others.
func TestLookupIsGuarded(t *testing.T) {
	b := open(t)
	b.admit("first")
	for name, change := range map[string]func(*cache.LookupRow){
		"an older epoch": func(r *cache.LookupRow) { r.Epoch = 0 },
		"another tenant": func(r *cache.LookupRow) { r.TenantID = "globex" },
		"no such call":   func(r *cache.LookupRow) { r.InvocationID = id("none") },
	} {
		row := lookupRow("first")
		change(&row)
		if found := b.lookup(row); !found.Superseded || found.InFlight {
			t.Errorf("%s: %+v", name, found)
		}
	}
	b.settle(settleIn("first", 1))
	if found := b.lookup(lookupRow("first")); !found.Superseded {
		t.Errorf("a settled call: %+v", found)
	}
	if n := value[int](b, `SELECT count(*) FROM leases`); n != 0 {
		t.Errorf("%d leases", n)
	}
}

// TestOneCallRunsTheTool: of many calls that look at the same moment, one runs the tool, and every other call waits and gets a recheck. That also holds for a
// call that begins to wait while the first one settles.
func TestOneCallRunsTheTool(t *testing.T) {
	b := open(t)
	const calls = 24
	for try := range 5 {
		b.sql(`DELETE FROM result_cache`)
		name := func(i int) string { return fmt.Sprintf("call-%d-%d", try, i) }
		for i := range calls {
			b.admit(name(i))
		}
		var ran, found atomic.Int64
		together(calls, func(i int) {
			f := b.lookup(lookupRow(name(i)))
			switch {
			case f.Value != nil:
				found.Add(1)
			case !f.InFlight:
				ran.Add(1)
				b.settle(keeps(name(i), `{"text":"one"}`))
			}
		})
		rechecked := len(b.takeRechecks())
		if ran.Load() != 1 || int(ran.Load()+found.Load())+rechecked != calls || b.countLeases("waiting") != rechecked {
			t.Fatalf("try %d: %d flew, %d found the value, %d of %d who wait were told", try, ran.Load(), found.Load(), rechecked, b.countLeases("waiting"))
		}
		b.sql(`DELETE FROM leases`)
	}
}

// TestKept: settle stores a value for the cache, when it does not store one, and how long the value lasts by the clock of the database.
func TestKept(t *testing.T) {
	b := open(t)
	for _, call := range []string{"first", "second", "third"} {
		b.admit(call)
	}
	value1 := `{"b":1.10,"a":"x"}`
	b.trips.Store(0)
	b.settle(keeps("first", value1, "repo:7"))
	if n := b.trips.Load(); n != 1 {
		t.Errorf("settle takes %d round trips", n)
	}
	if got := value[string](b, `SELECT concat_ws('|', tenant_id, key, tool_id, value, tags, invocation_id, expires_at - created_at) FROM result_cache`); got !=
		strings.Join([]string{tenant, cacheKey, "core__write_file", value1, "{repo:7}", id("first"), "01:00:00"}, "|") {
		t.Errorf("kept %s", got)
	}
	found := func() string { return string(b.lookup(lookupRow("second")).Value) }
	if found() != value1 {
		t.Errorf("found %s", found())
	}
	// A repeated settle and a settle of an older epoch store nothing.
	b.settle(keeps("first", `{"text":"again"}`))
	stale := keeps("second", `{"text":"stale"}`)
	stale.Epoch = 0
	b.settle(stale)
	if found() != value1 {
		t.Errorf("found %s", found())
	}
	// A call replaces a value of an older call, and not one of a younger call.
	b.sql(`UPDATE invocations SET created_at = created_at - interval '1 hour' WHERE invocation_id = $1`, id("third"))
	b.settle(keeps("third", `{"text":"older"}`))
	if found() != value1 {
		t.Errorf("found %s", found())
	}
	b.admit("fourth")
	b.settle(keeps("fourth", `{"text":"younger"}`))
	if found() != `{"text":"younger"}` {
		t.Errorf("found %s", found())
	}
	expire := func() {
		t.Helper()
		if b.sql(`UPDATE result_cache SET expires_at = now()`); found() != "" {
			t.Errorf("found %s", found())
		}
	}
	// A call replaces the expired value of a younger call.
	expire()
	b.admit("fifth")
	b.sql(`UPDATE invocations SET created_at = created_at - interval '1 hour' WHERE invocation_id = $1`, id("fifth"))
	b.settle(keeps("fifth", `{"text":"fresh"}`))
	if found() != `{"text":"fresh"}` {
		t.Errorf("found %s", found())
	}
	expire()
	if n, err := b.DeleteExpiredCache(t.Context(), 10); err != nil || n != 1 {
		t.Errorf("deleted %d: %v", n, err)
	}
}

// TestPoisonedEntry: a value of another tenant under the same key is never found, so that a guessed or stolen key gives nothing.
func TestPoisonedEntry(t *testing.T) {
	b := open(t)
	b.admit("first")
	b.sql(`INSERT INTO result_cache (tenant_id, key, tool_id, value, invocation_id, made_at, expires_at)
		VALUES ('globex', $1, 'core__read', '{"text":"poison"}', $2, now(), now() + interval '1 day')`, cacheKey, id("first"))
	if found := b.lookup(lookupRow("first")); found.Value != nil || found.InFlight {
		t.Errorf("found %+v", found)
	}
	b.settle(keeps("first", `{"text":"good"}`))
	if n := value[int](b, `SELECT count(*) FROM result_cache WHERE tenant_id = 'globex' AND value::text = '{"text":"poison"}'`); n != 1 {
		t.Error("another tenant's entry was replaced")
	}
}

// TestInvalidation: invalidating a tag deletes the values of the tenant with this tag, and also refuses the value of a call that began before that.
func TestInvalidation(t *testing.T) {
	b := open(t)
	for _, call := range []string{"first", "second"} {
		b.admit(call)
	}
	invalidate := func(tenant string, tags ...string) int {
		n, err := b.InvalidateCache(t.Context(), tenant, tags...)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	found := func() string { return string(b.lookup(lookupRow("second")).Value) }
	b.settle(keeps("first", `{"text":"one"}`, "a", "b"))
	for _, n := range []int{invalidate("globex", "a", "b"), invalidate(tenant, "c"), invalidate(tenant)} {
		if n != 0 || found() != `{"text":"one"}` {
			t.Fatalf("%d values are void, found %s", n, found())
		}
	}
	if n := invalidate(tenant, "c", "b", "b"); n != 1 || found() != "" {
		t.Errorf("%d values are void, found %s", n, found())
	}
	// This call read before the tag was invalidated, so its value is an old one.
	b.settle(keeps("second", `{"text":"old"}`, "b"))
	b.admit("third")
	if f := b.lookup(lookupRow("third")); f.Value != nil {
		t.Errorf("found %s", f.Value)
	}
	b.settle(keeps("third", `{"text":"new"}`, "b"))
	b.admit("fourth")
	if f := b.lookup(lookupRow("fourth")); string(f.Value) != `{"text":"new"}` {
		t.Errorf("found %s", f.Value)
	}
	b.sql(`UPDATE cache_tags SET invalidated_at = now() - interval '91 days' WHERE tag = 'c'`)
	if n, err := b.DeleteExpiredCache(t.Context(), 10); err != nil || n != 1 || value[int](b, `SELECT count(*) FROM cache_tags WHERE tenant_id = $1`, tenant) != 1 {
		t.Errorf("deleted %d: %v", n, err)
	}
}

// TestGuardedReadTrips: a call with a quota, a semaphore and the cache takes five round trips, with a hit of the cache and without one.
func TestGuardedReadTrips(t *testing.T) {
	b := open(t)
	for _, call := range []string{"miss", "hit"} {
		b.trips.Store(0)
		b.admit(call)
		if _, err := b.TakeTokens(own(t), capacity.TokensRow{
			InvocationID: id(call), TenantID: tenant, Epoch: 1, Round: 1, Buckets: []capacity.Bucket{{Key: "q", Tokens: 5, Every: time.Hour}},
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.TakeSlots(own(t), capacity.SlotsRow{
			InvocationID: id(call), TenantID: tenant, Epoch: 1, Round: 1, Slots: []capacity.Slot{{Key: "s", Most: 5}},
		}); err != nil {
			t.Fatal(err)
		}
		in := keeps(call, `{"text":"one"}`)
		if found := b.lookup(lookupRow(call)); found.InFlight || (found.Value != nil) != (call == "hit") {
			t.Errorf("%s found %+v", call, found)
		} else if found.Value != nil {
			in.Kept = nil
		}
		b.settle(in)
		if n := b.trips.Load(); n != 5 {
			t.Errorf("a %s took %d round trips", call, n)
		}
	}
	if left := value[int](b, `SELECT count(*) FROM leases`); left != 0 {
		t.Errorf("%d leases are left", left)
	}
}
