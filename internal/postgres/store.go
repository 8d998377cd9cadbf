package postgres

import (
	"context"
	"embed"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

//go:embed queries/*.sql
var queryFiles embed.FS

// queries are the files of the statements.
func queries() fs.FS {
	files, err := fs.Sub(queryFiles, "queries")
	if err != nil {
		panic(err) // the name is a constant
	}
	return files
}

// Store keeps the record. It may be used by several goroutines.
type Store struct {
	db       *db.DB
	compiled *policyCache
}

var (
	_ activities.Records = (*Store)(nil)
	_ judge.Policies     = (*Store)(nil)
	_ upkeep.Store       = (*Store)(nil)
)

// Options are how a Store connects.
type Options = db.Options

// Error is what went wrong in the database.
type Error = db.Error

// Migration is a step of the schema.
type Migration = db.Migration

// SchemaBehind says that the database lacks steps that this build needs.
type SchemaBehind = db.SchemaBehind

// ErrNotFound is the answer for what does not exist and for what belongs to another tenant: the two cannot be told apart.
var ErrNotFound = db.ErrNotFound

// New makes a Store of a pool. The pool stays the caller's.
func New(pool *pgxpool.Pool) *Store { return on(db.New(pool)) }

// Open connects to the database, as db.Open. Close the Store.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	d, err := db.Open(ctx, url, opts)
	if err != nil {
		return nil, err
	}
	return on(d), nil
}

func on(d *db.DB) *Store {
	return &Store{db: d.With(queries()), compiled: newPolicyCache(policyCacheSize)}
}

// Ping asks whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// MaxConns is how many statements can run at once.
func (s *Store) MaxConns() int { return s.db.MaxConns() }

// Close ends the connections; it waits for statements that run.
func (s *Store) Close() { s.db.Close() }

// Migrate brings the schema up to this build and returns the steps it took. Several processes may call it at once: one works, the
// others wait. A schema that is newer stays as it is.
func (s *Store) Migrate(ctx context.Context) ([]Migration, error) { return s.db.Migrate(ctx) }

// MigrationStatus lists the steps that this build knows, applied or not.
func (s *Store) MigrationStatus(ctx context.Context) ([]Migration, error) {
	return s.db.MigrationStatus(ctx)
}

// CheckSchema returns a *SchemaBehind where steps are missing. It only reads. A newer schema is right: it serves the release before.
func (s *Store) CheckSchema(ctx context.Context) error { return s.db.CheckSchema(ctx) }
