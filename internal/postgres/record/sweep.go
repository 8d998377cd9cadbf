package record

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
)

// OpenCalls returns a page of the open calls of a namespace, oldest first. It returns no calls for an
// empty namespace.
func (s *Store) OpenCalls(ctx context.Context, page upkeep.OpenPage) ([]upkeep.OpenCall, error) {
	var after, until *time.Time
	var afterID *string
	if page.After != nil {
		after, afterID = &page.After.CreatedAt, &page.After.InvocationID
	}
	if !page.Until.IsZero() {
		until = &page.Until
	}
	return db.All[upkeep.OpenCall](ctx, s.db, "open calls", db.Query("OpenCalls", db.Values{
		"namespace": db.Text(page.Namespace), "after": after, "after_id": afterID, "until": until, "max": page.Limit,
	}))
}

// sweptRow is a row of the statement Sweep.
type sweptRow struct {
	Code toolspec.Code
}

// Sweep settles a call whose workflow has ended and returns the code of its result. If the
// record is no longer open or has another epoch, Sweep writes nothing and returns "".
func (s *Store) Sweep(ctx context.Context, in upkeep.SweepRow) (toolspec.Code, error) {
	ends, unknown := toolspec.InfoOf(in.Code), toolspec.InfoOf(toolspec.CodeOutcomeUnknown)
	// The 0 is the number of attempts, which a sweep does not know: the claims in the record say whether a tool ran.
	steps := append(release(in.InvocationID, in.Epoch, in.RunID, 0, allRounds, sweptGrace), db.Query("Sweep", db.Values{
		"invocation_id": in.InvocationID, "namespace": db.Text(in.Namespace), "epoch": in.Epoch, "temporal_run_id": db.Text(in.RunID), "cause": db.Text(in.Cause),
		"grace": sweptGrace, "code": db.Text(ends.Code), "message": ends.Message, "status": ends.HTTP,
		"unknown_code": db.Text(unknown.Code), "unknown_message": unknown.Message, "unknown_status": unknown.HTTP,
	}))
	row, _, err := batchLocked[sweptRow](ctx, s, "sweep", in.InvocationID, steps...)
	return row.Code, err
}
