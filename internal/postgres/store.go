package postgres

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/internal/postgres/agents"
	"github.com/pawl-run/pawl/internal/postgres/audit"
	"github.com/pawl-run/pawl/internal/postgres/catalog"
	"github.com/pawl-run/pawl/internal/postgres/connections"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/identities"
	"github.com/pawl-run/pawl/internal/postgres/memories"
	"github.com/pawl-run/pawl/internal/postgres/outbox"
	"github.com/pawl-run/pawl/internal/postgres/outputs"
	"github.com/pawl-run/pawl/internal/postgres/policies"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/internal/postgres/recheck"
	"github.com/pawl-run/pawl/internal/postgres/record"
	"github.com/pawl-run/pawl/internal/postgres/registrations"
	"github.com/pawl-run/pawl/internal/postgres/runs"
	"github.com/pawl-run/pawl/internal/postgres/triggers"
	"github.com/pawl-run/pawl/proof"
)

// The stores that Store embeds. Without the aliases, all of the embedded fields would have the name Store.
type (
	recordStore     = record.Store
	outputStore     = outputs.Store
	policyStore     = policies.Store
	connectionStore = connections.Store
	identityStore   = identities.Store
	catalogStore    = catalog.Store
	recheckStore    = recheck.Store
	readStore       = reads.Store
	runStore        = runs.Store
	memoryStore     = memories.Store
	registryStore   = registrations.Store
	agentStore      = agents.Store
	triggerStore    = triggers.Store
	auditStore      = audit.Store
)

// Store has the methods of all stores, on one pool of connections. It is safe for concurrent
// use.
type Store struct {
	*recordStore
	*outputStore
	*policyStore
	*connectionStore
	*identityStore
	*catalogStore
	*recheckStore
	*readStore
	*runStore
	*memoryStore
	*registryStore
	*agentStore
	*triggerStore
	*auditStore

	db *db.DB
}

var (
	_ activities.Records = (*Store)(nil)
	_ upkeep.Store       = (*Store)(nil)
)

// Options configure the connections of a Store.
type Options = db.Options

// Stat is the state of the pool of connections.
type Stat = db.Stat

// OutputLimits bound what is kept of outputs.
type OutputLimits = outputs.Limits

// Error is a database error without the server's text.
type Error = db.Error

// KeyUse is the number of secrets that a key of a key ring has sealed.
type KeyUse = connections.KeyUse

// Cause says why no connection was made.
type Cause = db.Cause

// Causes of connections that were not made.
const (
	CauseRefused     = db.CauseRefused
	CauseNoHost      = db.CauseNoHost
	CauseNoTLS       = db.CauseNoTLS
	CauseUnknownCA   = db.CauseUnknownCA
	CauseHostname    = db.CauseHostname
	CauseCertificate = db.CauseCertificate
	CauseTimeout     = db.CauseTimeout
)

// Migration is a step of the schema.
type Migration = db.Migration

// Restored means that the rows were written in another database.
type Restored = db.Restored

// SchemaBehind means that the database lacks steps that this build needs.
type SchemaBehind = db.SchemaBehind

// MigrationStopped means that the server has ended a change of the schema.
type MigrationStopped = db.MigrationStopped

// LockWait is how long Migrate tries to get the locks of tables.
const LockWait = db.LockWait

// RolesSQL makes the roles of Pawl, for an administrator of the server.
var RolesSQL = db.RolesSQL

// ErrNotFound means that a row does not exist or belongs to another tenant. The error does not
// distinguish the two.
var ErrNotFound = db.ErrNotFound

// New returns a Store that uses pool. The caller closes the pool.
func New(pool *pgxpool.Pool) *Store { return newStore(db.New(pool)) }

// Open connects to the database as db.Open does. Close the Store after use.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	d, err := db.Open(ctx, url, opts)
	if err != nil {
		return nil, err
	}
	return newStore(d), nil
}

func newStore(d *db.DB) *Store {
	p := policies.New(d)
	return &Store{
		recordStore: record.New(d), outputStore: outputs.New(d), policyStore: p, connectionStore: connections.New(d), identityStore: identities.New(d),
		catalogStore: catalog.New(d, p), recheckStore: recheck.New(d), readStore: reads.New(d), runStore: runs.New(d), memoryStore: memories.New(d), registryStore: registrations.New(d), agentStore: agents.New(d), triggerStore: triggers.New(d), auditStore: audit.New(d),
		db: d,
	}
}

// NewRelay returns a relay on the database of a Store. Run starts it.
func NewRelay(s *Store, namespace string, sender outbox.Sender, log *slog.Logger) *outbox.Relay {
	return outbox.NewRelay(s.db, namespace, s, sender, log)
}

// NewNotices returns Notices on the database of a Store. Run starts it. outbox.NewNotices
// describes the names of notifiers.
func NewNotices(s *Store, notifiers map[string]outbox.Notifier, log *slog.Logger) *outbox.Notices {
	return outbox.NewNotices(s.db, notifiers, log)
}

// NewTriggerEvents returns TriggerEvents on the database of a Store, for the calls and runs of a Temporal namespace. Run starts it.
func NewTriggerEvents(s *Store, namespace string, firer outbox.Firer, log *slog.Logger) *outbox.TriggerEvents {
	return outbox.NewTriggerEvents(s.db, namespace, firer, log)
}

// CheckURL returns an error if url is not a valid address of a database. The error begins with what, such as the name of a setting, and does
// not contain the address.
func CheckURL(what, url string) error { return db.CheckURL(what, url) }

// NewSealer returns a sealer of the audit trail on the database of a Store. Run starts it. audit.NewSealer describes the signer.
func NewSealer(s *Store, signer *proof.Signer, retentionDays int, log *slog.Logger) *audit.Sealer {
	return audit.NewSealer(s.auditStore, signer, retentionDays, log)
}

// Ping checks that the database answers.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// Stat returns the state of the pool of connections.
func (s *Store) Stat() Stat { return s.db.Stat() }

// MaxConns returns how many statements can run at the same time.
func (s *Store) MaxConns() int { return s.db.MaxConns() }

// Close closes the connections. It waits for running statements.
func (s *Store) Close() { s.db.Close() }

// Migrate applies the missing steps of this build to the schema and returns them. Several
// processes may call it at the same time: one process applies the steps, and the others wait. It
// does not change a newer schema.
func (s *Store) Migrate(ctx context.Context) ([]Migration, error) { return s.db.Migrate(ctx) }

// MigrateWithin is Migrate with another wait for the locks of tables than LockWait.
func (s *Store) MigrateWithin(ctx context.Context, wait time.Duration) ([]Migration, error) {
	return s.db.MigrateWithin(ctx, wait)
}

// CreateRoles makes the roles of Pawl if the user may, and returns those that are missing. Call it
// before Migrate.
func (s *Store) CreateRoles(ctx context.Context) (missing []string, err error) {
	return s.db.CreateRoles(ctx)
}

// GrantRoles gives the roles of Pawl their privileges, and the tables their row-level security. Call it
// after Migrate. It does nothing if a role is missing.
func (s *Store) GrantRoles(ctx context.Context, wait time.Duration) error {
	return s.db.GrantRoles(ctx, wait)
}

// Notifies reports whether the notifications of the database arrive. A pooler in front of the database keeps them away.
func (s *Store) Notifies() bool { return s.db.Notifies() }

// MigrationStatus lists the steps of this build, applied or not.
func (s *Store) MigrationStatus(ctx context.Context) ([]Migration, error) {
	return s.db.MigrationStatus(ctx)
}

// CheckSchema returns a *SchemaBehind if steps are missing. It only reads. A newer schema is
// valid, because it also serves the previous release.
func (s *Store) CheckSchema(ctx context.Context) error { return s.db.CheckSchema(ctx) }

// CheckOrigin returns a *Restored if the rows were written in another database than this one.
func (s *Store) CheckOrigin(ctx context.Context) error { return s.db.CheckOrigin(ctx) }

// NoteOrigin notes that the rows belong to this database.
func (s *Store) NoteOrigin(ctx context.Context) error { return s.db.NoteOrigin(ctx) }

// WorkerSessions returns the number of connections of workers to the database.
func (s *Store) WorkerSessions(ctx context.Context) (int64, error) { return s.db.WorkerSessions(ctx) }

// CheckNoWorkers returns an error if workers are connected to the database.
func (s *Store) CheckNoWorkers(ctx context.Context) error { return s.db.CheckNoWorkers(ctx) }
