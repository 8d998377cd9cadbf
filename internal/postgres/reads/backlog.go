package reads

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

// NoticeBacklog is how notices to one notifier stand.
type NoticeBacklog struct {
	Notifier string
	// GivenUp counts those that were given up within a day.
	GivenUp int64
	// Late counts those that failed, are tried again and happened more than five minutes
	// ago, the oldest at Since. LastError is the newest failure of either.
	Late      int64
	Since     *time.Time
	LastError string
}

// NoticeBacklogs returns how notices stand, for every notifier that workers have sent to of late.
func (s *Store) NoticeBacklogs(ctx context.Context) ([]NoticeBacklog, error) {
	return db.All[NoticeBacklog](ctx, s.db, "notices", db.Query("NoticeBacklog", db.Values{}))
}
