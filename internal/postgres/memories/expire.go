package memories

import (
	"context"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

// DeleteExpiredMemory deletes up to limit expired entries of one session, up to limit answers of writes
// that no call repeats any more, and the usage of up to limit sessions without entries. It returns how
// many rows it deleted; 0 means that nothing is left to do.
func (s *Store) DeleteExpiredMemory(ctx context.Context, limit int) (int, error) {
	deleted, _, err := db.First[countRow](ctx, s.db, "delete expired memory", db.Query("DeleteExpired", db.Values{"batch": limit}))
	if err != nil {
		return 0, err
	}
	writes, err := s.db.Exec(ctx, "forget memory writes", db.Query("ForgetWrites", db.Values{"batch": limit}))
	if err != nil {
		return int(deleted.Entries), err
	}
	sessions, _, err := db.First[countRow](ctx, s.db, "forget memory sessions", db.Query("ForgetSessions", db.Values{"batch": limit}))
	return int(deleted.Entries + writes + sessions.Entries), err
}
