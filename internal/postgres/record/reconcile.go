package record

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// fenceID is the id of the claim that FenceAll writes after a restore, for a dispatch that the record may have lost. The claims of attempts have random
// ids, so no worker has this id.
const fenceID = "restored"

type workflowRow struct {
	WorkflowID string
	Settled    bool
}

// RecordedCalls returns those of the workflow ids that have a call in the record, and whether the call is settled.
func (s *Store) RecordedCalls(ctx context.Context, workflowIDs []string) (map[string]bool, error) {
	rows, err := db.All[workflowRow](ctx, s.db, "recorded calls", db.Query("RecordedCalls", db.Values{"workflow_ids": workflowIDs}))
	found := map[string]bool{}
	for _, r := range rows {
		found[r.WorkflowID] = r.Settled
	}
	return found, err
}

// Dispatched has the recorded dispatches of an open call.
type Dispatched struct {
	InvocationID string
	// Repeatable says that a lost attempt of the tool may be repeated.
	Repeatable bool
	// Claimed says that the plan has the claimed lane.
	Claimed bool
	// Dispatches are the numbers that have a claim or a tombstone.
	Dispatches []int
	// Fenced says that FenceAll has written its claim.
	Fenced bool
}

// DispatchesOf returns the dispatches of open calls, by their ids. A call that is not open is missing.
func (s *Store) DispatchesOf(ctx context.Context, invocationIDs []string) (map[string]Dispatched, error) {
	rows, err := db.All[Dispatched](ctx, s.db, "dispatches of calls", db.Query("DispatchesOf", db.Values{"invocation_ids": invocationIDs, "fence_id": fenceID}))
	found := map[string]Dispatched{}
	for _, r := range rows {
		found[r.InvocationID] = r
	}
	return found, err
}

type runsInTasksRow struct{ Runs bool }

// RunsInTasks reports whether the newest recorded plan of a tool has the claimed lane, so that its attempts run inside of workflow tasks, and says that a
// lost attempt must not be repeated. It returns true for a tool without a plan, about which the record says nothing.
func (s *Store) RunsInTasks(ctx context.Context, toolID string) (bool, error) {
	row, _, err := db.First[runsInTasksRow](ctx, s.db, "lane of a tool", db.Query("RunsInTasks", db.Values{"tool_id": db.Text(toolID)}))
	return row.Runs, err
}

// LostClaim is a claim that the record has lost: a dispatch whose tool may have run, as the history in Temporal shows, or the
// fence that FenceAll writes.
type LostClaim struct {
	contract.Claim
	// OverAt is when its tool has ended at the latest.
	OverAt time.Time
}

// Fence writes the claims that the record has lost, so that a tool that must not be repeated does not run again, and returns the epoch of the call
// afterwards. It writes nothing if the call is not open in the epoch, or belongs to another namespace.
func (s *Store) Fence(ctx context.Context, namespace, invocationID string, epoch int, lost []LostClaim) (int, error) {
	row, _, err := batchLocked[fencedRow](ctx, s, "fence", invocationID, db.Query("Fence", db.Values{
		"invocation_id": invocationID, "namespace": db.Text(namespace), "epoch": epoch,
		"dispatches": db.Column(lost, func(c LostClaim) int { return c.Dispatch }),
		"claim_ids":  db.Column(lost, func(c LostClaim) string { return db.Text(c.ID) }),
		"over_ats":   db.Column(lost, func(c LostClaim) time.Time { return c.OverAt }),
	}))
	return row.Epoch, err
}

type fencedRow struct{ Epoch int }

// FenceAll writes a claim that no attempt answers, with the number after the last recorded dispatch. It stands for the dispatches that the record may
// have lost, so that a tool that must not be repeated does not run again. FenceAll returns the same as Fence.
func (s *Store) FenceAll(ctx context.Context, namespace string, of Dispatched, epoch int) (int, error) {
	next := 1
	for _, n := range of.Dispatches {
		next = max(next, n+1)
	}
	return s.Fence(ctx, namespace, of.InvocationID, epoch, []LostClaim{{Claim: contract.Claim{Dispatch: next, ID: fenceID}, OverAt: time.Now()}})
}

// LostCall is a call that the record has lost.
type LostCall struct {
	Invocation                    toolspec.Invocation
	RunID, Namespace, InputDigest string
	StartedAt, EndedAt            time.Time
	Attempts                      int
}

type recordedRow struct{ Recorded bool }

// RecordLost writes a lost call with an unknown outcome. recorded is false if the record has the call, and then nothing is written.
func (s *Store) RecordLost(ctx context.Context, c LostCall) (recorded bool, err error) {
	const op = "record a lost call"
	id, in := c.Invocation.Identity(), c.Invocation.Context
	unknown := toolspec.InfoOf(toolspec.CodeOutcomeUnknown)
	result, err := db.Encoded(toolspec.Result{
		ToolCallID: c.Invocation.ToolCallID, InvocationID: id.InvocationID(), InputDigest: c.InputDigest, ErrorCode: unknown.Code, SafeMessage: unknown.Message,
		Details: &toolspec.Details{Cause: fenceID}, HTTPStatus: unknown.HTTP, Attempts: c.Attempts, StartedAtMs: c.StartedAt.UnixMilli(), EndedAtMs: c.EndedAt.UnixMilli(),
	})
	if err != nil {
		return false, db.Failure(op, err)
	}
	row, _, err := db.First[recordedRow](ctx, s.db, op, db.Query("RecordLost", db.Values{
		"invocation_id": id.InvocationID(), "tenant_id": db.Text(in.TenantID), "run_id": db.Text(in.RunID), "tool_call_id": db.Text(c.Invocation.ToolCallID),
		"tool_id": db.Text(c.Invocation.ToolID), "actor_id": db.Text(in.ActorID), "subject_id": db.Text(in.SubjectID), "session_id": db.Text(in.SessionID),
		"request_id": db.Text(in.RequestID), "graph_id": db.Text(in.GraphID), "connection_id": db.Text(in.ConnectionID), "workflow_id": db.Text(id.WorkflowID()),
		"temporal_run_id": db.Text(c.RunID), "namespace": db.Text(c.Namespace), "input_digest": c.InputDigest, "started_at": c.StartedAt,
		"result": result, "error_code": db.Text(unknown.Code), "attempts": c.Attempts,
	}))
	return row.Recorded, err
}
