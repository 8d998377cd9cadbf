package identities

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/workerkey"
)

var _ workerkey.Store = (*Store)(nil)

// workerKeyRow is a row of the statement WorkerKeys.
type workerKeyRow struct {
	KeyID  int64
	Secret []byte
	AgeMs  int64
}

// WorkerKeys returns the keys that workers sign with, newest first. It creates a key if the
// newest is older than workerkey.Signs.
func (s *Store) WorkerKeys(ctx context.Context) ([]workerkey.Key, error) {
	const op = "worker keys"
	secret := make([]byte, workerkey.Size)
	if _, err := rand.Read(secret); err != nil {
		return nil, db.Failure(op, err)
	}
	rows, err := db.All[workerKeyRow](ctx, s.db, op, db.Query("WorkerKeys", db.Values{"secret": secret, "signs": workerkey.Signs, "kept": workerkey.Kept}))
	return db.Column(rows, func(r workerKeyRow) workerkey.Key {
		return workerkey.Key{ID: r.KeyID, Secret: r.Secret, Age: time.Duration(r.AgeMs) * time.Millisecond}
	}), err
}
