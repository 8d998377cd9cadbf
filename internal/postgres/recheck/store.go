package recheck

import (
	"embed"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

// Files has the statements of the package. Stores whose changes affect calls run them too.
//
//go:embed *.sql
var Files embed.FS

// Store sends rechecks to open calls. It is safe for concurrent use.
type Store struct {
	db *db.DB
}

// New returns a Store that uses the database d.
func New(d *db.DB) *Store { return &Store{db: d.With(Files)} }
