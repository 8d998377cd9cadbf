package devstack_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/devstack"
)

// short is how long a test waits for a frozen server.
const short = 500 * time.Millisecond

// TestFrozenPostgres: no connection gets an answer, old or new, until the server continues. The
// server then runs a statement that was sent before.
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
		t.Errorf("a frozen server answers: %v", err)
	case <-time.After(short):
	}
	thaw()
	if err := <-sent; err != nil {
		t.Errorf("after thaw: %v", err)
	}
	var n int
	if err := connect(t, p.URL()).QueryRow(t.Context(), `SELECT count(*) FROM t`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d rows, %v; want the one that was sent to the frozen server", n, err)
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

// TestFrozenTemporal: the server does not answer until it continues.
func TestFrozenTemporal(t *testing.T) {
	t.Parallel()
	s := startTemporal(t, devstack.TemporalOptions{Dir: scratch(t)})
	c := dial(t, s.Address())
	thaw, err := s.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	// The threads of a process stop one by one, so a thread that still runs may answer the first
	// request.
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
