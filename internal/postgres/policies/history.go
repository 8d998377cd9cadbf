package policies

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

// ActivationRecord is one move of the policy pointer.
type ActivationRecord struct {
	Digest string `json:"digest"`
	// Before is the version that was active until then; empty if none was.
	Before string    `json:"before,omitempty"`
	How    How       `json:"how"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
}

// PolicyHistory returns how the pointer moved, the newest first; n is 1–500, 0 means 50.
func (s *Store) PolicyHistory(ctx context.Context, n int) ([]ActivationRecord, error) {
	return db.All[ActivationRecord](ctx, s.db, "policy history", db.Query("PolicyHistory", db.Values{"max": db.Limit(n)}))
}

type digestRow struct {
	Digest string
}

// PolicyVersions returns the digests of stored versions that begin with prefix, at most two of them: enough to know whether it is one's
// name.
func (s *Store) PolicyVersions(ctx context.Context, prefix string) ([]string, error) {
	rows, err := db.All[digestRow](ctx, s.db, "policy versions", db.Query("PolicyVersions", db.Values{"prefix": db.Text(prefix), "max": 2}))
	digests := make([]string, len(rows))
	for i, r := range rows {
		digests[i] = r.Digest
	}
	return digests, err
}
