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
	// Late counts the notices of events more than five minutes ago whose delivery failed and is tried again.
	Late int64
	// Since is when the event of the oldest late notice happened; nil if no notice is late.
	Since *time.Time
	// LastError is the error of the newest notice that is late or was given up.
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
	// Messages and Notices are the messages of the outbox and the notices that are not delivered yet.
	Messages, Notices           int64
	MessagesSince, NoticesSince *time.Time
	// Approvals counts the open approval requests of all namespaces. Unknown counts the parked calls of all namespaces, which ask a person how they end.
	Approvals, Unknown           int64
	ApprovalsSince, UnknownSince *time.Time
	// Calls counts the open calls of a namespace. Endings counts its swept calls of which hooks of the closing stages have still to run.
	Calls, Endings int64
	CallsSince     *time.Time
	// Unsealed are events that no worker has sealed.
	Unsealed      int64
	UnsealedSince *time.Time
	// TriggerEvents counts the events for triggers, of calls and runs of a namespace, that have not started their runs yet.
	TriggerEvents      int64
	TriggerEventsSince *time.Time
	// Quota counts the open calls of a namespace that wait for a token of a quota.
	Quota int64
	// Places counts the open calls of a namespace that wait for a slot of a limit of concurrent calls.
	Places int64
	// Shared counts the open calls of a namespace that wait for the cached value that another call gets from the tool.
	Shared int64
	// Now is the time of the database.
	Now time.Time
}

// Backlogs counts the waiting rows of each kind, up to limit. It counts calls, endings and trigger events of one namespace of Temporal.
func (s *Store) Backlogs(ctx context.Context, namespace string, limit int) (Backlogs, error) {
	b, _, err := db.First[Backlogs](ctx, s.db, "backlogs", db.Query("Backlogs", db.Values{"namespace": db.Text(namespace), "most": limit}))
	return b, err
}
