package postgres_test

import (
	"testing"

	"github.com/pawl-run/pawl/activities/capacity"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestRenewedPlaceStays: a claim renews an expired place at the moment at which another statement gives expired places away. The holder keeps the place, and no
// other call gets it.
func TestRenewedPlaceStays(t *testing.T) {
	s := slot("s", 2)
	for name, tc := range map[string]struct {
		gives    func(b bench)
		rechecks []string
	}{
		"a call takes a place": {func(b bench) { b.wantSlot("3", 1, capacity.Waiting, 0, s) }, nil},
		"a call ends":          {func(b bench) { b.ends("2", 1, 1) }, []string{"3"}},
		"the sweeper": {func(b bench) {
			if n, err := b.ReleaseExpired(b.t.Context(), 10); n != 0 || err != nil {
				b.t.Errorf("%d places were taken back, %v", n, err)
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			for _, call := range []string{"1", "2", "3", "4"} {
				b.admit(call)
			}
			b.wantSlot("1", 1, capacity.Taken, 0, s)
			b.wantSlot("2", 1, capacity.Taken, 0, s)
			b.wantSlot("3", 1, capacity.Waiting, 0, s)
			b.wantSlot("4", 1, capacity.Waiting, 1, s)
			b.sql(`UPDATE leases SET expires_at = now() WHERE invocation_id = $1`, id("1"))
			// The claim has renewed the place, and waits for this row.
			other := b.holds(`INSERT INTO claims (invocation_id, dispatch, kind, epoch) VALUES ($1, 1, 'claim', 1)`, id("1"))
			claimed := make(chan contract.Outcome, 1)
			go func() {
				out, err := b.Claim(own(t), claimRow("1", 1, 1))
				if err != nil {
					t.Error(err)
				}
				claimed <- out
			}()
			b.waitForLock()
			given := make(chan struct{})
			go func() {
				defer close(given)
				tc.gives(b)
			}()
			until(t, "the other statement waits for the claim", func() bool { return b.waiting() == 2 })
			if err := other.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			if out := <-claimed; out != contract.Done {
				t.Errorf("claim says %s", out)
			}
			<-given
			b.wantRechecks(tc.rechecks...)
			if held := value[bool](b, `SELECT state = 'held' AND expires_at > now() FROM leases WHERE invocation_id = $1`, id("1")); !held {
				t.Error("the call that has claimed has lost its place")
			}
			if n := value[int](b, `SELECT count(*) FROM leases WHERE state = 'held'`); n != 2 {
				t.Errorf("%d calls have a place, want 2", n)
			}
		})
	}
}
