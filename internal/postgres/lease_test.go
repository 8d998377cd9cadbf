package postgres_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/capacity"
	"github.com/pawl-run/pawl/workflows/contract"
)

func slot(key string, limit int) capacity.Slot {
	return capacity.Slot{Key: key, Most: limit, Wait: true}
}

func (b bench) slots(call string, epoch int, slots ...capacity.Slot) capacity.Answer {
	b.t.Helper()
	answer, err := b.TakeSlots(own(b.t), capacity.SlotsRow{InvocationID: id(call), TenantID: tenant, Epoch: epoch, Round: 1, Slots: slots})
	if err != nil {
		b.t.Error(err)
	}
	return answer
}

func (b bench) wantSlot(call string, epoch int, state capacity.State, ahead int, slots ...capacity.Slot) {
	b.t.Helper()
	if a := b.slots(call, epoch, slots...); a.State != state || a.Ahead != ahead {
		b.t.Errorf("%s: %+v, want %s behind %d", call, a, state, ahead)
	}
}

// takeRechecks returns the calls to which a recheck is queued for workers of their namespace, and deletes all rechecks.
func (b bench) takeRechecks() []string {
	b.t.Helper()
	return value[[]string](b, `WITH gone AS (DELETE FROM outbox WHERE signal = 'recheck' RETURNING workflow_id, namespace)
		SELECT coalesce(array_agg(split_part(workflow_id, ':', 4) ORDER BY workflow_id), '{}') FROM gone JOIN invocations USING (workflow_id, namespace)`)
}

func (b bench) wantRechecks(calls ...string) {
	b.t.Helper()
	if got := b.takeRechecks(); !slices.Equal(got, calls) {
		b.t.Errorf("told were %v, want %v", got, calls)
	}
}

// TestRequestGivesBack: a request that gives capacity back does so in its own transaction. A waiting call gets the slot, and the token returns to its bucket.
func TestRequestGivesBack(t *testing.T) {
	for _, gives := range []bool{false, true} {
		b := open(t)
		s := slot("s", 1)
		b.admit("1")
		b.admit("2")
		b.tokens("1", 1, bucket("q", 1, time.Hour, 0))
		b.wantSlot("1", 1, capacity.Taken, 0, s)
		b.wantSlot("2", 1, capacity.Waiting, 0, s)
		row := requestRow("1", 1)
		row.GivesBack, row.Capacity = gives, 1
		b.trips.Store(0)
		b.request(row)
		b.request(row) // as a retry of the activity does
		if trips := b.trips.Load(); trips != 2 {
			t.Errorf("%d round trips", trips)
		}
		free := capacity.Refused
		if gives {
			b.wantRechecks("2")
			b.wantSlot("2", 1, capacity.Taken, 0, s)
			free = capacity.Taken
		} else {
			b.wantRechecks()
			b.wantSlot("2", 1, capacity.Waiting, 0, s)
		}
		if got := b.tokens("2", 1, bucket("q", 1, time.Hour, 0)); got.State != free {
			t.Errorf("gives back %t: the token of the call is %s to another call", gives, got.State)
		}
	}
}

// TestLateRequestKeepsSlots: when an old attempt of a request commits after the call has acquired its capacity again, it does not give that capacity back.
func TestLateRequestKeepsSlots(t *testing.T) {
	b := open(t)
	s, q := slot("s", 1), bucket("q", 1, time.Hour, 0)
	b.admit("1")
	b.admit("2")
	b.wantSlot("1", 1, capacity.Taken, 0, s)
	b.tokens("1", 1, q)
	row := requestRow("1", 1)
	row.GivesBack, row.Capacity = true, 1
	b.request(row)
	ctx := own(t)
	slots, err := b.TakeSlots(ctx, capacity.SlotsRow{InvocationID: id("1"), TenantID: tenant, Epoch: 1, Round: 2, Slots: []capacity.Slot{s}})
	if err != nil || slots.State != capacity.Taken {
		t.Fatalf("got %+v, %v", slots, err)
	}
	tokens, err := b.TakeTokens(ctx, capacity.TokensRow{InvocationID: id("1"), TenantID: tenant, Epoch: 1, Round: 2, Buckets: []capacity.Bucket{q}})
	if err != nil || tokens.State != capacity.Taken {
		t.Fatalf("got %+v, %v", tokens, err)
	}
	b.request(row)
	b.wantSlot("2", 1, capacity.Waiting, 0, s)
	if got := b.tokens("2", 1, q); got.State != capacity.Refused {
		t.Errorf("the token of the call is %s to another call", got.State)
	}
	b.ends("1", 1, 0)
	b.wantRechecks("2")
}

// TestSlotsAreHandedOver: the statement that gives a slot back also gives it to the next waiting call, so that no other call can take it.
func TestSlotsAreHandedOver(t *testing.T) {
	b := open(t)
	for _, call := range []string{"1", "2", "3", "4", "5", "6"} {
		b.admit(call)
	}
	s := slot("s", 2)
	b.wantSlot("1", 1, capacity.Taken, 0, s)
	b.wantSlot("2", 1, capacity.Taken, 0, s)
	b.trips.Store(0)
	b.wantSlot("3", 1, capacity.Waiting, 0, s)
	if trips := b.trips.Load(); trips != 1 {
		t.Errorf("%d round trips", trips)
	}
	b.wantSlot("4", 1, capacity.Waiting, 1, s)
	b.wantSlot("5", 1, capacity.Waiting, 2, s)
	b.wantSlot("3", 1, capacity.Waiting, 0, s) // its place in the queue is the same
	b.wantSlot("1", 1, capacity.Taken, 0, s)
	if a := b.slots("6", 1, capacity.Slot{Key: "s", Most: 2}); a.State != capacity.Refused || a.Key != "s" {
		t.Errorf("%+v, want to be refused", a)
	}
	b.ends("1", 1, 1)
	b.wantRechecks("3")
	b.wantSlot("6", 1, capacity.Waiting, 2, s) // a new call does not get the free slot
	b.wantSlot("4", 1, capacity.Waiting, 0, s)
	b.wantSlot("3", 1, capacity.Taken, 0, s)
	// A waiting call that ends leaves the queue, and no call gets a recheck.
	b.ends("4", 1, 0)
	b.wantRechecks()
	// A call that ends without using the slot that it got passes the slot to the next call.
	b.ends("2", 1, 1)
	b.wantRechecks("5")
	b.ends("5", 1, 0)
	b.wantRechecks("6")
	b.ends("6", 1, 1)
	b.ends("3", 1, 1)
	b.wantRechecks()
	if n := value[int](b, `SELECT count(*) FROM leases`); n != 0 {
		t.Errorf("%d leases are left", n)
	}
	b.sql(`UPDATE semaphores SET used_at = now() - interval '2 days'`)
	if n, err := b.DeleteIdleCapacity(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("%d rows deleted, %v; want the semaphore", n, err)
	}
}

// TestSlotsNameTheEpoch: a run with an older epoch can neither take slots nor give slots back.
func TestSlotsNameTheEpoch(t *testing.T) {
	b := open(t)
	b.admit("1")
	s := slot("s", 1)
	b.wantSlot("1", 1, capacity.Taken, 0, s)
	b.admit("1")
	b.wantSlot("1", 1, capacity.Superseded, 0, s)
	stale := settleIn("1", 1)
	stale.Holds = true
	if out := b.settle(stale); out.Outcome != contract.Superseded {
		t.Errorf("settle says %s", out.Outcome)
	}
	if n := value[int](b, `SELECT count(*) FROM leases WHERE state = 'held'`); n != 1 {
		t.Errorf("%d places are held, want the one", n)
	}
	b.wantSlot("1", 2, capacity.Taken, 0, s)
}

// crowd makes many calls take places at the same time, use them and end, and checks how many calls have a place.
type crowd struct {
	bench
	inside  sync.Map // of key
	entered []string
	mu      sync.Mutex
}

func (c *crowd) through(call string, slots ...capacity.Slot) {
	c.admit(call)
	deadline, tick := time.Now().Add(3*time.Minute), time.NewTicker(2*time.Millisecond)
	defer tick.Stop()
	for c.slots(call, 1, slots...).State != capacity.Taken {
		if <-tick.C; time.Now().After(deadline) {
			c.t.Errorf("%s never got its places", call)
			return
		}
	}
	c.mu.Lock()
	c.entered = append(c.entered, call)
	c.mu.Unlock()
	for _, p := range slots {
		n, _ := c.inside.LoadOrStore(p.Key, new(atomic.Int64))
		if now := n.(*atomic.Int64).Add(1); now > int64(p.Most) {
			c.t.Errorf("%d are inside %s, at most %d may be", now, p.Key, p.Most)
		}
	}
	<-tick.C
	for _, p := range slots {
		n, _ := c.inside.Load(p.Key)
		n.(*atomic.Int64).Add(-1)
	}
	c.ends(call, 1, 1)
}

// TestOppositeOrder: calls that take two semaphores, some in one order and some in the other, all get through.
func TestOppositeOrder(t *testing.T) {
	c := &crowd{bench: open(t)}
	names := calls(60)
	together(len(names), func(i int) {
		slots := []capacity.Slot{slot("a", 3), slot("b", 2)}
		if i%2 == 0 {
			slices.Reverse(slots)
		}
		if i%5 == 0 {
			slots = slots[:1]
		}
		c.through(names[i], slots...)
	})
	if n := value[int](c.bench, `SELECT count(*) FROM leases`); n != 0 || len(c.entered) != len(names) {
		t.Errorf("%d leases are left, %d calls got through", n, len(c.entered))
	}
}

// TestNoPartialSlots: if a semaphore is full and its limit does not allow waiting, the call enters no queue and holds no place of another semaphore.
func TestNoPartialSlots(t *testing.T) {
	b := open(t)
	b.admit("1")
	b.admit("2")
	b.wantSlot("1", 1, capacity.Taken, 0, slot("b", 1))
	b.wantSlot("2", 1, capacity.Refused, 0, slot("a", 1), capacity.Slot{Key: "b", Most: 1})
	if n := value[int](b, `SELECT count(*) FROM leases WHERE invocation_id = $1`, id("2")); n != 0 {
		t.Errorf("it has %d leases", n)
	}
	// When the limit no longer applies to the call, the call leaves its queue.
	b.wantSlot("2", 1, capacity.Waiting, 0, slot("b", 1))
	b.wantSlot("2", 1, capacity.Taken, 0)
	if n := value[int](b, `SELECT count(*) FROM leases WHERE invocation_id = $1`, id("2")); n != 0 {
		t.Errorf("it still stands in the queue")
	}
}

// TestRaisedLimit: the places that a higher limit adds go to the calls that wait, and not to the call that comes with the new limit.
func TestRaisedLimit(t *testing.T) {
	b := open(t)
	for _, call := range []string{"1", "2", "3", "4"} {
		b.admit(call)
	}
	b.wantSlot("1", 1, capacity.Taken, 0, slot("s", 1))
	b.wantSlot("2", 1, capacity.Waiting, 0, slot("s", 1))
	b.wantSlot("3", 1, capacity.Waiting, 1, slot("s", 1))
	b.wantSlot("4", 1, capacity.Waiting, 2, slot("s", 2))
	b.wantSlot("3", 1, capacity.Waiting, 1, slot("s", 2))
	b.wantSlot("2", 1, capacity.Taken, 0, slot("s", 2))
	b.wantSlot("3", 1, capacity.Waiting, 0, slot("s", 2))
}

// TestDroppedLimit: a call leaves the queue of a limit that its policy does not have any more, and keeps the places that it holds.
func TestDroppedLimit(t *testing.T) {
	b := open(t)
	b.admit("1")
	b.admit("2")
	s, full, u := slot("s", 1), slot("full", 1), slot("u", 1)
	b.wantSlot("1", 1, capacity.Taken, 0, full)
	b.wantSlot("2", 1, capacity.Waiting, 0, s, full, u)
	b.sql(`INSERT INTO leases (invocation_id, kind, tenant_id, key, state, round, epoch, expires_at)
		VALUES ($1, 'single_flight', 'acme', 'flight', 'waiting', 1, 1, now() + interval '1 hour')`, id("2"))
	leases := func() string {
		return value[string](b, `SELECT string_agg(key || ' ' || state, ', ' ORDER BY key) FROM leases WHERE invocation_id = $1::uuid`, id("2"))
	}
	if b.slots("2", 0, s); leases() != "flight waiting, full waiting, s held, u held" {
		t.Errorf("an older epoch leaves %s", leases())
	}
	if b.wantSlot("2", 1, capacity.Taken, 0, s); leases() != "flight waiting, s held, u held" {
		t.Errorf("it has %s", leases())
	}
}

// TestSlotsAreApart: two tenants never share a semaphore, even with the same key.
func TestSlotsAreApart(t *testing.T) {
	b := open(t)
	for i, tenantID := range []string{tenant, "other"} {
		row := admitRow(fmt.Sprint(i))
		row.Invocation.Context.TenantID = tenantID
		identity := row.Invocation.Identity()
		row.InvocationID, row.WorkflowID = identity.InvocationID(), identity.WorkflowID()
		b.admitted(row)
		a, err := b.TakeSlots(own(t), capacity.SlotsRow{
			InvocationID: row.InvocationID, TenantID: tenantID, Epoch: 1, Round: 1, Slots: []capacity.Slot{{Key: "s", Most: 1}},
		})
		if err != nil || a.State != capacity.Taken {
			t.Errorf("%s: %+v, %v", tenantID, a, err)
		}
	}
}
