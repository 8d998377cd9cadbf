package policies

import (
	"embed"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/internal/lru"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/recheck"
	"github.com/pawl-run/pawl/policy"
)

//go:embed *.sql
var files embed.FS

var _ judge.Policies = (*Store)(nil)

// Store stores policies and kill switches. It is safe for concurrent use.
type Store struct {
	db       *db.DB
	compiled *lru.Cache[string, *policy.Policy]
}

// New returns a Store that uses the database d.
func New(d *db.DB) *Store {
	return &Store{db: d.With(files, recheck.Files), compiled: lru.New[string, *policy.Policy](policyCacheSize, nil)}
}
