package devstack

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/devstack/supervise"
)

// Freeze stops the server as a machine that stands still would: connections stay
// open and nothing answers. thaw lets it go on; so does the end of the calling
// process. Do not stop or restart the server meanwhile.
func (t *Temporal) Freeze() (thaw func(), err error) {
	pid := t.PID()
	if pid == 0 {
		return nil, errors.New("freeze Temporal: it does not run")
	}
	frozen, err := supervise.Freeze(pid)
	if err != nil {
		return nil, err
	}
	return frozen.Thaw, nil
}

// Freeze stops the server with all its processes as a machine that stands still
// would: connections stay open, new ones are taken, and nothing answers. thaw
// lets it go on; so does the end of the calling process. Do not stop or restart
// the server meanwhile.
func (p *Postgres) Freeze(ctx context.Context) (thaw func(), err error) {
	postmaster := p.PID()
	if postmaster == 0 {
		return nil, errors.New("freeze Postgres: it does not run")
	}
	conn, err := pgx.Connect(ctx, p.URL())
	if err != nil {
		return nil, fmt.Errorf("freeze Postgres: %w", err)
	}
	// Its processes have sessions of their own, so no signal reaches them all. The
	// postmaster goes first: then it starts no others.
	first, err := supervise.Freeze(postmaster)
	if err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	pids, err := children(ctx, conn)
	var rest *supervise.Frozen
	if err == nil {
		rest, err = supervise.Freeze(pids...)
	}
	if err != nil {
		first.Thaw()
		return nil, errors.Join(fmt.Errorf("freeze Postgres: %w", err), conn.Close(ctx))
	}
	return func() {
		rest.Thaw()
		first.Thaw()
		_ = conn.Close(context.WithoutCancel(ctx))
	}, nil
}

// children lists the processes of the server but for the postmaster.
func children(ctx context.Context, conn *pgx.Conn) ([]int, error) {
	rows, err := conn.Query(ctx, `SELECT pid FROM pg_stat_activity`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int])
}

// LockTable locks a table of the database against reads and writes but plain
// SELECTs, by a transaction of its own. It waits for those that use the table
// until ctx ends. release ends the lock; so does the end of the calling process.
func (p *Postgres) LockTable(ctx context.Context, table string) (release func(), err error) {
	conn, err := pgx.Connect(ctx, p.URL())
	if err != nil {
		return nil, fmt.Errorf("lock the table %s: %w", table, err)
	}
	_, err = conn.Exec(ctx, `BEGIN`)
	if err == nil {
		_, err = conn.Exec(ctx, `LOCK TABLE `+pgx.Identifier{table}.Sanitize()+` IN EXCLUSIVE MODE`)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the table %s: %w", table, err), conn.Close(context.WithoutCancel(ctx)))
	}
	return func() { _ = conn.Close(context.WithoutCancel(ctx)) }, nil
}
