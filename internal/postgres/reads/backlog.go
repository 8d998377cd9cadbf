package reads

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

// NoticeBacklog is the state of the notices to one notifier.
type NoticeBacklog struct {
	Notifier string
	// GivenUp counts the notices that were given up within the last day.
	GivenUp int64
	// Late counts the notices that failed, are tried again and happened more than five minutes
	// ago. Since is the time of the oldest. LastError is the error of the newest notice that is
	// late or was given up.
	Late      int64
	Since     *time.Time
	LastError string
}

// NoticeBacklogs returns the state of the notices for every notifier with recent deliveries.
func (s *Store) NoticeBacklogs(ctx context.Context) ([]NoticeBacklog, error) {
	return db.All[NoticeBacklog](ctx, s.db, "notices", db.Query("NoticeBacklog", db.Values{}))
}

// EndingBacklog is the state of the swept calls whose hooks at the closing stages have not all run.
type EndingBacklog struct {
	Calls int64
	// Since is when the oldest of these calls was settled, or nil without calls.
	Since *time.Time
	// Tries is how often sweeps have taken the call that they took most often.
	Tries int
}

// EndingBacklog returns the state of the swept calls of a namespace of Temporal.
func (s *Store) EndingBacklog(ctx context.Context, namespace string) (EndingBacklog, error) {
	b, _, err := db.First[EndingBacklog](ctx, s.db, "ending backlog", db.Query("EndingBacklog", db.Values{"namespace": db.Text(namespace)}))
	return b, err
}
