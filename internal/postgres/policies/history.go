package policies

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

// ActivationRecord is one change of the active version.
type ActivationRecord struct {
	Digest string `json:"digest"`
	// Before is the version that was active before. It is empty if there was none.
	Before string    `json:"before,omitempty"`
	How    How       `json:"how"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
}

// PolicyHistory returns the changes of the active version, newest first. n is 1–500; 0 means 50.
func (s *Store) PolicyHistory(ctx context.Context, n int) ([]ActivationRecord, error) {
	return db.All[ActivationRecord](ctx, s.db, "policy history", db.Query("PolicyHistory", db.Values{"max": db.Limit(n)}))
}

type digestRow struct {
	Digest string
}

// PolicyVersions returns at most two digests of stored versions that begin with prefix. Two are
// enough to detect an ambiguous prefix.
func (s *Store) PolicyVersions(ctx context.Context, prefix string) ([]string, error) {
	rows, err := db.All[digestRow](ctx, s.db, "policy versions", db.Query("PolicyVersions", db.Values{"prefix": db.Text(prefix), "max": 2}))
	digests := make([]string, len(rows))
	for i, r := range rows {
		digests[i] = r.Digest
	}
	return digests, err
}
