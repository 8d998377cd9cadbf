package postgres_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

// TestThroughAPooler checks that a store works through PgBouncer in transaction mode, with and without the address of the server itself.
func TestThroughAPooler(t *testing.T) {
	b := open(t)
	address := devstacktest.Pooler(t, b.url)
	for name, direct := range map[string]string{"pooler": "", "direct": b.url} {
		s, err := postgres.Open(t.Context(), address, postgres.Options{MaxConns: 8, DirectURL: direct})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s.Notifies() != (direct != "") {
			t.Errorf("%s: notifies: %v", name, s.Notifies())
		}
		_, err = s.Migrate(t.Context())
		if direct == "" && !errors.Is(err, db.ErrPooler) || direct != "" && err != nil {
			t.Errorf("%s: migrate: %v", name, err)
		}
		if err := s.EnsurePartitions(t.Context(), 1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// More clients than sessions of the server, so that they change between transactions.
		together(8, func(i int) {
			call := fmt.Sprint(name, i)
			if _, err := s.Admit(t.Context(), admitRow(call)); err != nil {
				t.Errorf("%s: %v", call, err)
				return
			}
			if _, err := s.Settle(own(t), settleIn(call, 1)); err != nil {
				t.Errorf("%s: %v", call, err)
			}
		})
		s.Close()
	}
	if n := value[int](b, `SELECT count(*) FROM invocations WHERE state = 'settled'`); n != 16 {
		t.Errorf("%d settled calls", n)
	}
}
