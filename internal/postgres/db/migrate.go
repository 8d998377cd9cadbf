package db

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/pawl-run/pawl/migrations"
)

//go:embed schema.sql origin.sql
var files embed.FS

// A process that migrates waits for another process that migrates: it tries lockTries times, every lockPeriod seconds.
const (
	lockPeriod = 1
	lockTries  = 300
)

// LockWait is how long Migrate tries to get the locks of tables.
const LockWait = time.Minute

// Migration is a step of the schema.
type Migration struct {
	Version int64  `json:"version"`
	Name    string `json:"name"`
	// AppliedAt is zero if the step is not applied.
	AppliedAt time.Time `json:"appliedAt,omitzero"`
}

// Migrate applies the missing steps of this build to the schema and returns them. Several
// processes may call it at once: one works, the others wait. It does not change a newer schema.
//
// A step waits a few seconds for a lock. Then it stops, so that statements of calls that wait behind it can run. Migrate
// tries again until LockWait is over. Then the error is a *MigrationStopped.
func (d *DB) Migrate(ctx context.Context) ([]Migration, error) { return d.MigrateWithin(ctx, LockWait) }

// MigrateWithin is Migrate with another wait for locks. 0 is one try.
func (d *DB) MigrateWithin(ctx context.Context, wait time.Duration) (applied []Migration, err error) {
	const op = "migrate"
	err = d.retryLocks(ctx, op, wait, func() error {
		return d.withGoose(ctx, func(p *goose.Provider) error {
			results, err := p.Up(ctx)
			var partial *goose.PartialError
			if errors.As(err, &partial) {
				results = partial.Applied
			}
			for _, r := range results {
				applied = append(applied, Migration{Version: r.Source.Version, Name: r.Source.Path, AppliedAt: time.Now()})
			}
			return err
		})
	})
	return applied, err
}

// MigrationStatus lists all migrations of this build. AppliedAt is zero for one that is not applied.
func (d *DB) MigrationStatus(ctx context.Context) ([]Migration, error) {
	const op = "migration status"
	var all []Migration
	err := d.withGoose(ctx, func(p *goose.Provider) error {
		statuses, err := p.Status(ctx)
		for _, st := range statuses {
			all = append(all, Migration{Version: st.Source.Version, Name: st.Source.Path, AppliedAt: st.AppliedAt})
		}
		return err
	})
	return all, explained(op, 0, err)
}

// SchemaBehind means that the database lacks migrations that this build needs.
type SchemaBehind struct {
	Have, Need int64
}

// Error names both versions and the command to run.
func (e *SchemaBehind) Error() string {
	return fmt.Sprintf("the database schema is at version %d and this build needs %d: run `pawl migrate up`", e.Have, e.Need)
}

type thereRow struct {
	There bool
}

type versionRow struct {
	Version int64
}

// CheckSchema returns a *SchemaBehind if steps are missing. It only reads. A newer schema is
// valid, because it also serves the previous release.
func (d *DB) CheckSchema(ctx context.Context) error {
	need := migrations.Latest()
	have, err := d.schemaVersion(ctx, "check schema")
	if err == nil && have < need {
		return &SchemaBehind{Have: have, Need: need}
	}
	return err
}

// schemaVersion returns the last applied step, 0 if there is none.
func (d *DB) schemaVersion(ctx context.Context, op string) (int64, error) {
	schema := d.With(files)
	there, _, err := First[thereRow](ctx, schema, op, Query("SchemaIsThere", Values{}))
	if err != nil || !there.There {
		return 0, err
	}
	have, _, err := First[versionRow](ctx, schema, op, Query("SchemaVersion", Values{}))
	return have.Version, err
}

// withGoose calls use with a provider of goose, which has connections of its own.
func (d *DB) withGoose(ctx context.Context, use func(*goose.Provider) error) (err error) {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(lockPeriod, lockTries), lock.WithUnlockTimeout(lockPeriod, lockTries))
	if err != nil {
		return err
	}
	sessions, err := d.sessions(ctx)
	if err != nil {
		return err
	}
	defer sessions.Close()
	pool := stdlib.OpenDBFromPool(sessions)
	defer func() {
		if closing := pool.Close(); err == nil {
			err = closing
		}
	}()
	provider, err := goose.NewProvider(goose.DialectPostgres, pool, migrations.FS(), goose.WithSessionLocker(locker))
	if err != nil {
		return err
	}
	return use(provider)
}
