package runs

import (
	"context"
	"embed"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

//go:embed *.sql
var files embed.FS

// Store stores the events of runs. It is safe for concurrent use.
type Store struct {
	db     *db.DB
	hub    *hub
	groups *groups
}

// New returns a Store that uses the database d.
func New(d *db.DB) *Store {
	d = d.With(files)
	return &Store{db: d, hub: newHub(d), groups: newGroups(d)}
}

// seqRow is a row of the statement ReportProgress. Seq is nil if no event was written.
type seqRow struct{ Seq *int64 }

// turnRow is a row of the statement Append: the state of the turn before it, and the number of the event that was written.
type turnRow struct {
	Written int64
	Done    bool
	Seq     *int64
}

// Append implements client.Runs.
func (s *Store) Append(ctx context.Context, tenantID, runID string, e client.TurnEvent) error {
	const op = "append"
	of := db.Values{"tenant_id": db.Text(tenantID), "run_id": db.Text(runID)}
	for {
		var detail *string
		if !e.Done {
			var err error
			if detail, err = db.Encoded(e.Text); err != nil {
				return db.Failure(op, err)
			}
		}
		end := e.Offset + int64(len(e.Text))
		var rows []turnRow
		if err := s.groups.write(ctx, op, inRun{tenantID, runID}, db.Only(db.Query("LockRun", of)), db.Into(&rows, db.Query("Append", of.With(db.Values{
			"key": db.Text(e.Key), "first": e.Offset, "until": end, "done": e.Done, "owner_id": db.Text(e.OwnerID), "detail": detail,
		})))); err != nil {
			return err
		}
		row := rows[0]
		switch {
		case row.Seq != nil, row.Done, !e.Done && row.Written >= end: // written now, or before
			return nil
		case e.Done:
			return client.ErrRunOpen
		case row.Written < e.Offset:
			return client.ErrTextMissing
		}
		// Another program that takes the same turn has written a part of the text.
		e.Text, e.Offset = e.Text[row.Written-e.Offset:], row.Written
	}
}

// ReportProgress writes the report of a running tool into the events of its run. It writes nothing if
// nobody watches the run, if the call is settled, or if the call has another epoch than the attempt.
// watched says that somebody may watch the run, also if nothing was written.
func (s *Store) ReportProgress(ctx context.Context, in attempt.ProgressRow) (watched bool, err error) {
	const op = "report progress"
	progress, err := db.Encoded(in.Progress)
	if err != nil {
		return false, db.Failure(op, err)
	}
	var rows []seqRow
	err = s.groups.write(ctx, op, inRun{in.TenantID, in.RunID}, db.Only(db.Query("LockRunOf", db.Values{"invocation_id": in.InvocationID})),
		db.Into(&rows, db.Query("ReportProgress", db.Values{"invocation_id": in.InvocationID, "epoch": in.Epoch, "progress": progress})))
	return err == nil && len(rows) > 0, err
}

// runRow is a row of the statement Run.
type runRow struct {
	TenantID, RunID                                      string
	LastSeq, Calls, Attempts                             int64
	LatencyMs, MaxLatencyMs, ApprovalWaitMs, ResultBytes int64

	Outcomes                    json.RawMessage
	FirstStartedAt, LastEndedAt *time.Time
}

// Run returns the summary of a run, and db.ErrNotFound for a run without events.
func (s *Store) Run(ctx context.Context, tenantID, runID string) (client.RunSummary, error) {
	const op = "run"
	row, found, err := db.First[runRow](ctx, s.db, op, db.Query("Run", db.Values{"tenant_id": db.Text(tenantID), "run_id": db.Text(runID)}))
	if err != nil {
		return client.RunSummary{}, err
	}
	if !found {
		return client.RunSummary{}, db.ErrNotFound
	}
	out := client.RunSummary{
		TenantID: row.TenantID, RunID: row.RunID, LastSeq: row.LastSeq, Calls: row.Calls, Attempts: row.Attempts, LatencyMs: row.LatencyMs,
		MaxLatencyMs: row.MaxLatencyMs, ApprovalWaitMs: row.ApprovalWaitMs, ResultBytes: row.ResultBytes,
		FirstStartedAt: row.FirstStartedAt, LastEndedAt: row.LastEndedAt,
	}
	out.Outcomes, err = db.Decoded[map[string]int64](row.Outcomes)
	return out, db.Failure(op, err)
}
