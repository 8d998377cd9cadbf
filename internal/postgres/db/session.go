package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3"
)

// migrationSession prepares a session that changes the schema. lock_timeout is short, because statements of calls queue behind a statement
// that waits for a lock. The other timeout ends the session of a process that is gone, so that it keeps no locks. The session becomes
// pawl_migrator if this role owns goose_db_version, or if that table does not exist and the role may create tables: then each member of the
// role can run later migrations. The search path is fixed before the role changes, because $user in it would then mean pawl_migrator.
const migrationSession = `
SET lock_timeout = '5s';
SET idle_in_transaction_session_timeout = '1min';
DO $$
DECLARE
	owner text := (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = to_regclass('goose_db_version'));
BEGIN
	IF current_user <> 'pawl_migrator' AND EXISTS (SELECT FROM pg_roles WHERE rolname = 'pawl_migrator')
		AND pg_has_role('pawl_migrator', CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END)
		AND (CASE WHEN owner IS NULL THEN has_schema_privilege('pawl_migrator', current_schema(), 'CREATE') ELSE owner = 'pawl_migrator' END)
	THEN
		PERFORM set_config('search_path', (SELECT string_agg(quote_ident(s), ', ') FROM unnest(current_schemas(false)) s), false);
		SET ROLE pawl_migrator;
	END IF;
END
$$`

// ErrPooler means that a pooler is between this program and the server, and gives each transaction another session of the server.
var ErrPooler = errors.New("a connection pooler such as PgBouncer is in front of the database, and migrations need a session of the server: set PAWL_DATABASE_DIRECT_URL to the address of the server itself")

// sessions returns a pool of one session that may change the schema. The caller closes it.
func (d *DB) sessions(ctx context.Context) (*pgxpool.Pool, error) {
	if d.direct == nil && d.pooled {
		return nil, ErrPooler
	}
	config := d.pool.Config().Copy()
	if d.direct != nil {
		config.ConnConfig = d.direct.Copy()
	}
	config.MaxConns, config.MinConns, config.MinIdleConns = 1, 0, 0
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if pooled, err := behindPooler(ctx, conn.PgConn()); err != nil || pooled {
			return errors.Join(err, ErrPooler)
		}
		_, err := conn.PgConn().Exec(ctx, migrationSession).ReadAll()
		return err
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// onSession calls use with a session that may change the schema.
func (d *DB) onSession(ctx context.Context, use func(*pgx.Conn) error) error {
	sessions, err := d.sessions(ctx)
	if err != nil {
		return err
	}
	defer sessions.Close()
	return sessions.AcquireFunc(ctx, func(c *pgxpool.Conn) error { return use(c.Conn()) })
}

// behindPooler reports whether a pooler is between Pawl and the server. A pooler invents the process id that a connection gets at its start,
// so this id differs from the process id of the server.
func behindPooler(ctx context.Context, conn *pgconn.PgConn) (bool, error) {
	results, err := conn.Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
	if err != nil {
		return false, err
	}
	return string(results[0].Rows[0][0]) != fmt.Sprint(conn.PID()), nil
}

// MigrationStopped means that the server has ended a change of the schema. The unfinished part of the step is not applied.
type MigrationStopped struct {
	// What is the name of the step that was stopped, or "" if the step is not known.
	What string
	// State is the SQLSTATE.
	State string
	// Waited is how long the step waited for locks of other sessions.
	Waited time.Duration
}

// SQLSTATEs. lockNotAvailable and deadlock: the statement did not get its locks. queryCanceled: it ran too long, or somebody cancelled it.
const (
	lockNotAvailable = "55P03"
	deadlock         = "40P01"
	queryCanceled    = "57014"
)

// Error says what happened, and what to do.
func (e *MigrationStopped) Error() string {
	if e.State == queryCanceled {
		return e.What + ": the server has ended a statement, because it took longer than statement_timeout or because somebody has cancelled it. The unfinished part of it is not applied. " +
			"Give the user of the database a larger statement_timeout, and run `pawl migrate up` again"
	}
	return fmt.Sprintf("%s: another session has held a lock for %s that this needs. The unfinished part of it is not applied, and calls go on. Find the session with "+
		"\"SELECT pid, usename, application_name, xact_start, query FROM pg_stat_activity WHERE xact_start < now() - interval '5 seconds'\", "+
		"let it end or end it with pg_terminate_backend(pid), and run `pawl migrate up` again", e.What, e.Waited.Round(time.Second))
}

// explained returns an error that says what to do if a pooler, a lock or a timeout prevented a change of the schema, or else the error
// that Failure returns.
func explained(op string, waited time.Duration, err error) error {
	var server *pgconn.PgError
	switch {
	case errors.Is(err, ErrPooler):
		return ErrPooler
	case errors.As(err, &server) && (server.Code == lockNotAvailable || server.Code == deadlock || server.Code == queryCanceled):
		stopped := &MigrationStopped{What: op, State: server.Code, Waited: waited}
		var partial *goose.PartialError
		if errors.As(err, &partial) {
			stopped.What = partial.Failed.Source.Path
		}
		return stopped
	}
	return Failure(op, err)
}

// retryDelay is the time between two tries to lock tables, in which statements of calls can run.
const retryDelay = time.Second

// retryLocks calls change again while it fails because of a lock, until wait is over.
func (d *DB) retryLocks(ctx context.Context, op string, wait time.Duration, change func() error) error {
	begun := time.Now()
	for {
		err := explained(op, time.Since(begun), change())
		var stopped *MigrationStopped
		if !errors.As(err, &stopped) || stopped.State == queryCanceled || time.Since(begun) >= wait {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryDelay):
		}
	}
}
