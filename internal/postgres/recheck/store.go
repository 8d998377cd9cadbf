package recheck

import (
	"embed"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

// Files has the statements, which the stores whose changes touch calls run too.
//
//go:embed *.sql
var Files embed.FS

// Store tells calls to look again. It may be used by several goroutines.
type Store struct {
	db *db.DB
}

// New makes a Store on a database.
func New(d *db.DB) *Store { return &Store{db: d.With(Files)} }
