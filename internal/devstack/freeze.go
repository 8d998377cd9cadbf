package devstack

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/devstack/supervise"
)

// Freeze stops the server like a stalled machine: connections stay open and nothing answers. thaw
// continues it, and so does the end of the calling process. Do not stop or restart the server
// before thaw.
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

// Freeze stops all processes of the server like a stalled machine: connections stay open, new
// connections are accepted, and nothing answers. thaw continues the server, and so does the end of
// the calling process. Do not stop or restart the server before thaw.
func (p *Postgres) Freeze(ctx context.Context) (thaw func(), err error) {
	postmaster := p.PID()
	if postmaster == 0 {
		return nil, errors.New("freeze Postgres: it does not run")
	}
	conn, err := pgx.Connect(ctx, p.URL())
	if err != nil {
		return nil, fmt.Errorf("freeze Postgres: %w", err)
	}
	// The processes have their own sessions, so one signal does not reach them all. The postmaster
	// is stopped first, so that it starts no others.
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

// children returns the processes of the server except the postmaster.
func children(ctx context.Context, conn *pgx.Conn) ([]int, error) {
	rows, err := conn.Query(ctx, `SELECT pid FROM pg_stat_activity`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int])
}

// LockTable locks a table against everything except plain SELECTs, in a transaction of its own. It
// waits for transactions that use the table until ctx ends. release ends the lock, and so does the
// end of the calling process.
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
