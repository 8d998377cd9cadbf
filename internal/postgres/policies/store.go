package policies

import (
	"embed"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/recheck"
)

//go:embed *.sql
var files embed.FS

var _ judge.Policies = (*Store)(nil)

// Store keeps policies and kill switches. It may be used by several goroutines.
type Store struct {
	db       *db.DB
	compiled *policyCache
}

// New makes a Store on a database.
func New(d *db.DB) *Store {
	return &Store{db: d.With(files, recheck.Files), compiled: newPolicyCache(policyCacheSize)}
}
