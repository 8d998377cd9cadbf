package record

import (
	"embed"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

//go:embed *.sql
var files embed.FS

// Store stores the records of calls. It is safe for concurrent use.
type Store struct {
	db *db.DB
}

// New returns a Store that uses the database d.
func New(d *db.DB) *Store { return &Store{db: d.With(files)} }
