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
	// Tries is the largest number of times that sweeps have taken one of these calls.
	Tries int
}

// EndingBacklog returns the state of the swept calls of a namespace of Temporal.
func (s *Store) EndingBacklog(ctx context.Context, namespace string) (EndingBacklog, error) {
	b, _, err := db.First[EndingBacklog](ctx, s.db, "ending backlog", db.Query("EndingBacklog", db.Values{"namespace": db.Text(namespace)}))
	return b, err
}

// Backlogs has the numbers of rows that wait. The limit of the method Backlogs bounds each number. A
// field such as MessagesSince is when the oldest of the counted rows began to wait, or nil.
type Backlogs struct {
	// Messages and Notices wait to be delivered.
	Messages, Notices           int64
	MessagesSince, NoticesSince *time.Time
	// Approvals are open requests, and Unknown open questions about unknown outcomes, of all namespaces.
	Approvals, Unknown           int64
	ApprovalsSince, UnknownSince *time.Time
	// Calls are open calls, and Endings swept calls whose closing hooks have not all run, of a namespace.
	Calls, Endings int64
	CallsSince     *time.Time
	// Unsealed are events that no worker has sealed.
	Unsealed      int64
	UnsealedSince *time.Time
	// TriggerEvents are events of Pawl whose runs have not started, of calls and runs of a namespace.
	TriggerEvents      int64
	TriggerEventsSince *time.Time
	// Quota are open calls of a namespace that wait for tokens of a quota, Places those that wait for a place at a limit of concurrent
	// calls, and Shared those that wait for the value that another call reads.
	Quota, Places, Shared int64
	// Now is the time of the database.
	Now time.Time
}

// Backlogs counts the waiting rows of each kind, up to limit. It counts calls, endings and trigger events of one namespace of Temporal.
func (s *Store) Backlogs(ctx context.Context, namespace string, limit int) (Backlogs, error) {
	b, _, err := db.First[Backlogs](ctx, s.db, "backlogs", db.Query("Backlogs", db.Values{"namespace": db.Text(namespace), "most": limit}))
	return b, err
}
