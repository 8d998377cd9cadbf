package reads

import (
	"embed"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

//go:embed *.sql
var files embed.FS

// Store reads the record. It may be used by several goroutines.
type Store struct {
	db *db.DB
}

// New makes a Store on a database.
func New(d *db.DB) *Store { return &Store{db: d.With(files)} }
