package devstack_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/devstack"
)

// short is how long a server that stands still is waited for.
const short = 500 * time.Millisecond

// TestFrozenPostgres: neither an old connection nor a new one gets an answer
// until the server goes on, and then a statement that was sent meanwhile is
// carried out.
func TestFrozenPostgres(t *testing.T) {
	t.Parallel()
	p := startPostgres(t, devstack.PostgresOptions{Dir: scratch(t)})
	execute(t, p.URL(), `CREATE TABLE t (n integer)`)
	conn := connect(t, p.URL())
	thaw, err := p.Freeze(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.WithoutCancel(t.Context()), `INSERT INTO t VALUES (1)`)
		sent <- err
	}()
	select {
	case err := <-sent:
		t.Errorf("a server that stands still answers: %v", err)
	case <-time.After(short):
	}
	thaw()
	if err := <-sent; err != nil {
		t.Errorf("after it went on: %v", err)
	}
	var n int
	if err := connect(t, p.URL()).QueryRow(t.Context(), `SELECT count(*) FROM t`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d rows, %v; want the one that was sent meanwhile", n, err)
	}
}

// TestLockedTable: a write waits until the lock is released.
func TestLockedTable(t *testing.T) {
	t.Parallel()
	p := startPostgres(t, devstack.PostgresOptions{Dir: scratch(t)})
	execute(t, p.URL(), `CREATE TABLE t (n integer)`)
	release, err := p.LockTable(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	if _, err := connect(t, p.URL()).Exec(ctx, `INSERT INTO t VALUES (1)`); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a write into a locked table: %v", err)
	}
	release()
	execute(t, p.URL(), `INSERT INTO t VALUES (1)`)
	if _, err := p.LockTable(t.Context(), "missing"); err == nil {
		t.Error("a table that does not exist was locked")
	}
}

// TestFrozenTemporal: the server does not answer until it goes on.
func TestFrozenTemporal(t *testing.T) {
	t.Parallel()
	s := startTemporal(t, devstack.TemporalOptions{Dir: scratch(t)})
	c := dial(t, s.Address())
	thaw, err := s.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	// The threads of a process stop one by one; the first question may find one that has not.
	eventually(t, func() string {
		ctx, cancel := context.WithTimeout(t.Context(), short)
		defer cancel()
		if _, err := c.CheckHealth(ctx, nil); err == nil {
			return "a server that stands still answers"
		}
		return ""
	})
	thaw()
	eventually(t, func() string {
		if _, err := c.CheckHealth(t.Context(), nil); err != nil {
			return err.Error()
		}
		return ""
	})
}
