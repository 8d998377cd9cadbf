package db

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Restored means that the rows were written in another database: a backup was restored into this database, or this database is a copy.
type Restored struct {
	// NotedAt is when NoteOrigin noted the other database.
	NotedAt time.Time
}

// Error says what to do.
func (e *Restored) Error() string {
	return "the database is a restored backup or a copy, so calls that it does not know may have run: stop all workers, run `pawl reconcile --older postgres --mend`, then start them (docs/backup.md)"
}

type originRow struct {
	Here    bool
	NotedAt time.Time
}

// CheckOrigin returns a *Restored if the rows were written in another database. It returns nil if no database is noted, or if the user may not
// read the identity of this database.
func (d *DB) CheckOrigin(ctx context.Context) error {
	row, found, err := First[originRow](ctx, d.With(files), "check origin", Query("Origin", Values{}))
	switch {
	case isDenied(err):
		return nil
	case err != nil:
		return err
	case found && !row.Here:
		return &Restored{NotedAt: row.NotedAt}
	}
	return nil
}

// NoteOrigin notes that the rows belong to this database. It notes nothing if the user may not read the identity of this database.
func (d *DB) NoteOrigin(ctx context.Context) error {
	_, err := d.With(files).Exec(ctx, "note origin", Query("NoteOrigin", Values{}))
	if isDenied(err) {
		return nil
	}
	return err
}

// isDenied reports whether the server refused a privilege. An operator may have revoked pg_control_system from PUBLIC.
func isDenied(err error) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.State == insufficientPrivilege
}

type sessionsRow struct{ Sessions int64 }

// WorkerSessions returns the number of connections of workers to the database.
func (d *DB) WorkerSessions(ctx context.Context) (int64, error) {
	row, _, err := First[sessionsRow](ctx, d.With(files), "worker sessions", Query("WorkerSessions", Values{}))
	return row.Sessions, err
}

// CheckNoWorkers returns an error if workers are connected to the database.
func (d *DB) CheckNoWorkers(ctx context.Context) error {
	sessions, err := d.WorkerSessions(ctx)
	if err == nil && sessions > 0 {
		err = fmt.Errorf("workers have %d connections to the database: stop all workers first", sessions)
	}
	return err
}
