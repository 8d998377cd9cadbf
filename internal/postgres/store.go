package postgres

import (
	"context"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/internal/postgres/catalog"
	"github.com/pawl-run/pawl/internal/postgres/connections"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/identities"
	"github.com/pawl-run/pawl/internal/postgres/outbox"
	"github.com/pawl-run/pawl/internal/postgres/policies"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/internal/postgres/recheck"
	"github.com/pawl-run/pawl/internal/postgres/record"
)

// The stores that Store embeds. Each alias gives an embedded field a name of its own.
type (
	recordStore     = record.Store
	policyStore     = policies.Store
	connectionStore = connections.Store
	identityStore   = identities.Store
	catalogStore    = catalog.Store
	recheckStore    = recheck.Store
	readStore       = reads.Store
)

// Store has the methods of all stores, on one pool of connections. It may be used by several goroutines.
type Store struct {
	*recordStore
	*policyStore
	*connectionStore
	*identityStore
	*catalogStore
	*recheckStore
	*readStore

	db *db.DB
}

var _ activities.Records = (*Store)(nil)

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
	p := policies.New(d)
	return &Store{
		recordStore: record.New(d), policyStore: p, connectionStore: connections.New(d), identityStore: identities.New(d),
		catalogStore: catalog.New(d, p), recheckStore: recheck.New(d), readStore: reads.New(d), db: d,
	}
}

// NewRelay makes a relay on the database of a Store; Run starts it.
func NewRelay(s *Store, sender outbox.Sender, log *slog.Logger) *outbox.Relay {
	return outbox.NewRelay(s.db, s, sender, log)
}

// NewHerald makes a herald on the database of a Store; Run starts it. outbox.NewHerald says what the names of notifiers mean.
func NewHerald(s *Store, notifiers map[string]outbox.Notifier, log *slog.Logger) *outbox.Herald {
	return outbox.NewHerald(s.db, notifiers, log)
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
