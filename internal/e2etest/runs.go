package e2etest

import (
	"context"
	"errors"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/upkeep"
)

// QuickDeletes returns the options of a server that deletes workflows quickly. A deletion waits until the queues of the server report their progress. These
// settings make that every 100 ms, and by default it is every 30 s.
func QuickDeletes() devstack.TemporalOptions {
	return devstack.TemporalOptions{DynamicConfig: []string{
		`history.transferProcessorUpdateAckInterval="100ms"`, `history.visibilityProcessorUpdateAckInterval="100ms"`,
		`history.timerProcessorUpdateAckInterval="100ms"`,
	}}
}

// RunAgain starts another run of a closed call under its id, and returns the result.
func (w *World) RunAgain(inv toolspec.Invocation) toolspec.Result {
	w.T.Helper()
	run, err := w.Temporal.ExecuteWorkflow(w.T.Context(), client.StartWorkflowOptions{
		ID: inv.Identity().WorkflowID(), TaskQueue: toolspec.TaskQueue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, toolspec.WorkflowType, inv)
	if err != nil {
		w.T.Fatal(err)
	}
	return w.Ended(run)
}

// Reset resets a workflow to its first workflow task with the temporal program, and returns the id of the new run.
func (w *World) Reset(workflowID string) (runID string) {
	w.T.Helper()
	before := w.Describe(workflowID).GetWorkflowExecutionInfo().GetExecution().GetRunId()
	w.MustCLI("workflow", "reset", "--workflow-id", workflowID, "--type", "FirstWorkflowTask", "--reason", "a test")
	w.Until(func() bool {
		runID = w.Describe(workflowID).GetWorkflowExecutionInfo().GetExecution().GetRunId()
		return runID != before
	}, "the reset run is the current one")
	return runID
}

// ResultOf waits until a workflow run completes, and returns the result of its call.
func (w *World) ResultOf(workflowID, runID string) toolspec.Result {
	w.T.Helper()
	return w.Ended(w.Temporal.GetWorkflow(w.T.Context(), workflowID, runID))
}

// Sweep runs one sweep, as the schedule does.
func (w *World) Sweep() upkeep.SweepOut {
	w.T.Helper()
	run, err := w.Temporal.ExecuteWorkflow(w.T.Context(), client.StartWorkflowOptions{TaskQueue: toolspec.TaskQueue}, upkeep.SweepType)
	if err != nil {
		w.T.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.T.Context(), WaitTimeout)
	defer cancel()
	var out upkeep.SweepOut
	if err := run.Get(ctx, &out); err != nil {
		w.T.Fatal(err)
	}
	if len(out.Failed) > 0 {
		w.T.Fatalf("these failed: %v", out.Failed)
	}
	return out
}

// Terminate terminates the current run of a call.
func (w *World) Terminate(inv toolspec.Invocation) {
	w.T.Helper()
	id := inv.Identity().WorkflowID()
	err := w.Temporal.TerminateWorkflow(w.T.Context(), id, "", "a test")
	// On a busy machine the answer may be lost. Then the client repeats the request, and the workflow is already closed.
	var closed *serviceerror.NotFound
	if errors.As(err, &closed) && w.Describe(id).GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED {
		return
	}
	if err != nil {
		w.T.Fatalf("%s: %v; its record has %+v", id, err, w.Record(inv).Result)
	}
}

// Closed waits until the current run of a call has ended.
func (w *World) Closed(inv toolspec.Invocation) {
	w.T.Helper()
	ended := func() bool {
		return w.Describe(inv.Identity().WorkflowID()).GetWorkflowExecutionInfo().GetCloseTime() != nil
	}
	// The wait has twice the usual time, because some runs end only with their own timeout.
	if !Eventually(w.T.Context(), ended) {
		w.Until(ended, inv.ToolCallID+" is over")
	}
}

// EventsOnce fails the test unless each settled call of the world has one start event and one result event after it, each open call has
// no result, and the world has at least as many settled calls.
func (w *World) EventsOnce(settled int) {
	w.T.Helper()
	for _, wrong := range Query[string](w, `
		SELECT i.tool_call_id || ' is ' || i.state || ' with ' || coalesce(string_agg(e.seq || ' ' || e.kind, ', ' ORDER BY e.seq), 'no events')
		FROM invocations i LEFT JOIN run_events e USING (tenant_id, run_id, invocation_id)
		GROUP BY i.invocation_id, i.tool_call_id, i.state
		HAVING count(*) FILTER (WHERE e.kind = 'tool_call_start') > 1
			OR count(*) FILTER (WHERE e.kind = 'tool_call_result') <> (i.state = 'settled')::int
			OR i.state = 'settled' AND (count(*) FILTER (WHERE e.kind = 'tool_call_start') = 0
				OR min(e.seq) FILTER (WHERE e.kind = 'tool_call_start') >= max(e.seq) FILTER (WHERE e.kind = 'tool_call_result'))`) {
		w.T.Errorf("events of a call: %s", wrong)
	}
	if n := Scalar[int](w, `SELECT count(*) FROM invocations WHERE state = 'settled'`); n < settled {
		w.T.Errorf("%d calls are settled, want %d or more", n, settled)
	}
}
