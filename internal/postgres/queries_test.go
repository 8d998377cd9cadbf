package postgres_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestEveryQueryIsTested: each folder of statements has a test that prepares them.
func TestEveryQueryIsTested(t *testing.T) {
	files, err := filepath.Glob("*/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if _, err := os.Stat(filepath.Join(filepath.Dir(f), "queries_test.go")); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}
