package postgres_test

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/capacity"
	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestExpiredPlace: another call can take an expired place, and the old holder learns of that before it runs its next attempt.
func TestExpiredPlace(t *testing.T) {
	b := open(t)
	for _, call := range []string{"1", "2", "3"} {
		b.admit(call)
	}
	s := slot("s", 1)
	claim := claimRow("1", 1, 1)
	claim.Repeatable, claim.Runtime = true, time.Hour
	b.wantSlot("1", 1, capacity.Taken, 0, s)
	b.wantSlot("2", 1, capacity.Waiting, 0, s)
	expire := func(call string) { b.sql(`UPDATE leases SET expires_at = now() WHERE invocation_id = $1`, id(call)) }
	// The place has expired, and no call has taken it. The claim of the holder renews it for as long as the attempt may run.
	expire("1")
	if out := b.claim(claim); out != contract.Done {
		t.Fatalf("claim says %s", out)
	}
	if left := value[float64](b, `SELECT extract(epoch FROM expires_at - now()) FROM leases WHERE state = 'held'`); left < 3600 {
		t.Errorf("it is held for %f seconds", left)
	}
	b.wantSlot("2", 1, capacity.Waiting, 0, s)
	// The place has expired, and another call takes it. The next attempt of the old holder must not begin.
	expire("1")
	b.wantSlot("2", 1, capacity.Taken, 0, s)
	claim.Dispatch = 2
	if out := b.claim(claim); out != contract.Unleased {
		t.Errorf("claim says %s", out)
	}
	// The old holder enters the queue again, at the end.
	b.wantSlot("3", 1, capacity.Waiting, 0, s)
	b.wantSlot("1", 1, capacity.Waiting, 1, s)
	if out := b.claim(claim); out != contract.Unleased {
		t.Errorf("claim says %s, while it waits", out)
	}
	b.ends("2", 1, 1)
	b.wantRechecks("3")
	b.ends("3", 1, 1)
	b.wantRechecks("1")
	if out := b.claim(claim); out != contract.Done {
		t.Errorf("claim says %s", out)
	}
}

// TestOnlyExpiredPlacesLapse: a call that asks for a place takes it only from calls of its tenant whose place has expired, and only while it may ask.
func TestOnlyExpiredPlacesLapse(t *testing.T) {
	b := open(t)
	for _, call := range []string{"asks", "holds", "elsewhere", "flies", "settled"} {
		b.admit(call)
	}
	b.settle(settleIn("settled", 1))
	b.sql(`INSERT INTO leases (invocation_id, kind, tenant_id, key, state, ticket, most, round, epoch, expires_at)
		VALUES ($1, 'semaphore', 'globex', 's', 'held', 1, 1, 1, 1, now()), ($2, 'single_flight', 'acme', 's', 'held', 2, 1, 1, 1, now())`,
		id("elsewhere"), id("flies"))
	b.wantSlot("holds", 1, capacity.Taken, 0, slot("s", 1), slot("t", 1))
	b.wantSlot("asks", 1, capacity.Taken, 0, slot("own", 1))
	b.sql(`UPDATE leases SET expires_at = now()`)
	states := func() string {
		return value[string](b, `SELECT string_agg(tool_call_id || ' ' || key || ' ' || l.state, ', ' ORDER BY tool_call_id, key) FROM leases l JOIN invocations USING (invocation_id)`)
	}
	all := "asks own held, elsewhere s held, flies s held, holds s held, holds t held"
	for name, ask := range map[string]func() (capacity.Answer, error){
		"a settled call": func() (capacity.Answer, error) { return b.slots("settled", 1, slot("s", 1)), nil },
		"an older epoch": func() (capacity.Answer, error) { return b.slots("asks", 0, slot("s", 1)), nil },
		"another tenant": func() (capacity.Answer, error) {
			return b.TakeSlots(own(t), capacity.SlotsRow{InvocationID: id("asks"), TenantID: "globex", Epoch: 1, Round: 1, Slots: []capacity.Slot{slot("s", 1)}})
		},
		"another run": func() (capacity.Answer, error) {
			return b.TakeSlots(executes(t.Context(), "another-run"), capacity.SlotsRow{InvocationID: id("asks"), TenantID: tenant, Epoch: 1, Round: 1, Slots: []capacity.Slot{slot("s", 1)}})
		},
	} {
		if a, err := ask(); err != nil || a.State != capacity.Superseded || states() != all {
			t.Errorf("%s: %+v, %v; the places are %s", name, a, err, states())
		}
	}
	b.wantSlot("asks", 1, capacity.Taken, 0, slot("s", 1), slot("own", 1))
	if got := states(); got != "asks own held, asks s held, elsewhere s held, flies s held, holds s lost, holds t held" {
		t.Errorf("the places are %s", got)
	}
}

// inLine admits the calls 1, 2 and 3. The first call holds the place of a semaphore, and the others wait for it in this order.
func (b bench) inLine() capacity.Slot {
	b.t.Helper()
	for _, call := range []string{"1", "2", "3"} {
		b.admit(call)
	}
	s := slot("s", 1)
	b.wantSlot("1", 1, capacity.Taken, 0, s)
	b.wantSlot("2", 1, capacity.Waiting, 0, s)
	b.wantSlot("3", 1, capacity.Waiting, 1, s)
	return s
}

// TestExpiredTurn: a call that asks again keeps its turn, although its place in the queue has expired.
func TestExpiredTurn(t *testing.T) {
	b := open(t)
	s := b.inLine()
	b.sql(`UPDATE leases SET expires_at = now() WHERE invocation_id = $1`, id("2"))
	b.wantSlot("2", 1, capacity.Waiting, 0, s)
	b.ends("1", 1, 1)
	b.wantRechecks("2")
}

// TestPartlyLostPlaces: a call that has lost one of its places gives up the others too, so that it and a call that waits for the same places do not wait for
// each other.
func TestPartlyLostPlaces(t *testing.T) {
	b := open(t)
	for _, call := range []string{"1", "2", "3"} {
		b.admit(call)
	}
	x, y := slot("x", 1), slot("y", 1)
	b.wantSlot("1", 1, capacity.Taken, 0, x, y)
	b.wantSlot("2", 1, capacity.Waiting, 0, x, y)
	b.sql(`UPDATE leases SET expires_at = now() WHERE invocation_id = $1`, id("1"))
	b.wantSlot("3", 1, capacity.Waiting, 1, x) // the first call loses x only
	claim := claimRow("1", 1, 1)
	if out := b.claim(claim); out != contract.Unleased {
		t.Errorf("claim says %s", out)
	}
	b.wantSlot("2", 1, capacity.Waiting, 0, x, y) // takes x
	b.wantSlot("1", 1, capacity.Waiting, 1, x, y)
	b.wantSlot("2", 1, capacity.Taken, 0, x, y)
	b.ends("2", 1, 1)
	b.wantRechecks("1", "3")
	b.wantSlot("1", 1, capacity.Waiting, 0, x, y) // has y, and waits for x
	b.ends("3", 1, 1)
	b.wantRechecks("1")
	b.wantSlot("1", 1, capacity.Taken, 0, x, y)
	if out := b.claim(claim); out != contract.Done {
		t.Errorf("claim says %s", out)
	}
}

// TestExpiredPlaceIsHandedOn: a settle that counts an expired place as free takes it from its holder.
func TestExpiredPlaceIsHandedOn(t *testing.T) {
	b := open(t)
	for _, call := range []string{"1", "2", "3", "4"} {
		b.admit(call)
	}
	s := slot("s", 2)
	b.wantSlot("1", 1, capacity.Taken, 0, s)
	b.wantSlot("2", 1, capacity.Taken, 0, s)
	b.wantSlot("3", 1, capacity.Waiting, 0, s)
	b.wantSlot("4", 1, capacity.Waiting, 1, s)
	b.sql(`UPDATE leases SET expires_at = now() WHERE invocation_id = $1`, id("1"))
	b.ends("2", 1, 1)
	b.wantRechecks("3", "4")
	if out := b.claim(claimRow("1", 1, 1)); out != contract.Unleased {
		t.Errorf("claim says %s beside two that hold its place", out)
	}
}

// TestReleaseExpired: the sweeper takes expired places from holders that do not give them back, and gives the places to waiting calls.
func TestReleaseExpired(t *testing.T) {
	b := open(t)
	s := b.inLine()
	release := func(want int) {
		t.Helper()
		if n, err := b.ReleaseExpired(t.Context(), 10); n != want || err != nil {
			t.Errorf("%d places were taken back, %v; want %d", n, err, want)
		}
	}
	release(0)
	b.sql(`UPDATE leases SET expires_at = now() WHERE invocation_id = $1`, id("1"))
	release(1)
	b.wantRechecks("2")
	release(0)
	b.wantSlot("2", 1, capacity.Taken, 0, s)
	if state := value[string](b, `SELECT state FROM leases WHERE invocation_id = $1`, id("1")); state != "lost" {
		t.Errorf("the first one's is %s", state)
	}
}

// TestSweptPlace: a waiting call leaves the queue when it is swept. A call that holds a place keeps it until its tool has surely stopped.
func TestSweptPlace(t *testing.T) {
	b := open(t)
	for _, call := range []string{"1", "2", "3"} {
		row := admitRow(call)
		row.Namespace = "ns"
		b.admitted(row)
	}
	s := slot("s", 1)
	b.wantSlot("1", 1, capacity.Taken, 0, s)
	b.wantSlot("2", 1, capacity.Waiting, 0, s)
	b.wantSlot("3", 1, capacity.Waiting, 1, s)
	for _, call := range []string{"2", "1"} {
		if code, err := b.Sweep(t.Context(), upkeep.SweepRow{
			InvocationID: id(call), Namespace: "ns", RunID: ownRun, Epoch: 1, Cause: upkeep.OwnerTerminated, Code: toolspec.CodeCancelled,
		}); err != nil || code != toolspec.CodeCancelled {
			t.Fatal(code, err)
		}
	}
	b.wantRechecks()
	left := value[float64](b, `SELECT extract(epoch FROM l.expires_at - i.settled_at) FROM leases l JOIN invocations i USING (invocation_id) WHERE l.state = 'held'`)
	if left < 5 || left > 15 {
		t.Errorf("its place is free after %f seconds", left)
	}
	// The rest of the test may take longer than the remaining time of the lease.
	b.sql(`UPDATE leases SET expires_at = expires_at + interval '1 hour' WHERE state = 'held'`)
	b.wantSlot("3", 1, capacity.Waiting, 0, s)
	b.sql(`UPDATE leases SET expires_at = now() WHERE invocation_id = $1`, id("1"))
	if n, err := b.ReleaseExpired(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("%d places were taken back, %v", n, err)
	}
	b.wantRechecks("3")
	if got := value[string](b, `SELECT string_agg(state, ' ') FROM leases`); got != "held" {
		t.Errorf("left are %s", got)
	}
}
