package db_test

import (
	"testing"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/querytest"
)

func TestQueries(t *testing.T) { querytest.Run(t, db.Files, db.RowTypes(), "NoteOrigin") }
