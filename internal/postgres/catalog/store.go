package catalog

import (
	"context"
	"embed"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
)

//go:embed *.sql
var files embed.FS

// Rules reads policy and kill switches.
type Rules interface {
	// CurrentPolicy returns the active policy, compiled. If no version is active, it returns the
	// policy that denies every call.
	CurrentPolicy(ctx context.Context) (*policy.Policy, error)
	// Stopped returns a function that reports whether a kill switch stops a tool for a tenant.
	Stopped(ctx context.Context, tenantID string) (func(toolspec.Spec) bool, error)
}

// Store stores the tools of workers. It is safe for concurrent use.
type Store struct {
	db        *db.DB
	rules     Rules
	namespace string // the namespace of the workers that methods without a parameter for it read; "" is all namespaces
}

// New returns a Store that uses the database d and the rules r.
func New(d *db.DB, r Rules) *Store { return &Store{db: d.With(files), rules: r} }

// UseNamespace makes the methods that have no parameter for a namespace leave out the workers of other namespaces. Call it before
// the first use of the Store. Without it they read the workers of every namespace.
func (s *Store) UseNamespace(name string) { s.namespace = name }
