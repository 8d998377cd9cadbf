package devstacktest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// RemoveDevData removes root, and the data directories that a `pawl dev` with its cache in root/cache
// keeps outside of root.
func RemoveDevData(t testing.TB, root string) {
	t.Helper()
	locations, err := filepath.Glob(filepath.Join(root, "cache/pawl/dev/*/data/postgres/data-location"))
	if err != nil {
		t.Error(err)
	}
	for _, location := range locations {
		data, err := os.ReadFile(location)
		if dir := strings.TrimSpace(string(data)); err == nil && strings.HasPrefix(filepath.Base(dir), "pawl-data-") {
			err = os.RemoveAll(dir)
		}
		if err != nil {
			t.Error(err)
		}
	}
	if err := os.RemoveAll(root); err != nil {
		t.Error(err)
	}
}
