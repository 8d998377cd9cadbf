package histories

import (
	"slices"
	"testing"
	"time"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/historytest"
)

// runGoesOn checks that a recorded run of an agent goes on. The responses of the model are in the record of a run and not in its history. So the present code
// first makes such a record, by the same run in another namespace with the same database. Then the recorded run is imported into its own namespace.
func runGoesOn(t *testing.T, address string, r historytest.Recorded) {
	database := postgrestest.Database(t)
	a := newAgentWorld(e2etest.NewWorldOn(t, address, database, e2etest.PlainPolicy))
	w := e2etest.NewWorldOn(t, address, database, e2etest.PlainPolicy)
	c := w.Config()
	c.ModelURLs = a.works.ModelURLs
	w.WorkWith(c, a.tools)
	moves := &agentWorld{World: w, hung: a.hung}
	id := historytest.WorkflowID(r.History)
	run := movedRun(w, r.History, map[string]time.Duration{"agent_waiting_model": 58 * time.Second}[r.Case])
	runID := run.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetOriginalExecutionRunId()
	move := func() {
		for _, table := range []string{"agent_runs", "invocations"} {
			e2etest.Query[string](w, "UPDATE "+table+" SET namespace = $1 RETURNING namespace", w.Namespace)
		}
		// The numbers of messages come from one sequence for all runs. The recorded run has a number of it, so later numbers must be higher.
		e2etest.Query[int64](w, "SELECT setval(pg_get_serial_sequence('agent_messages', 'seq'), 1000)")
		importHistory(w, id, runID, run)
	}
	switch r.Case {
	case "agent_waiting_message":
		a.waitsForMessage()
		move()
		moves.untilRound(2)
		moves.say(r.Case, "m2")
		moves.untilRound(3)
		if err := w.Pawl.CancelAgent(t.Context(), "acme", r.Case); err != nil {
			t.Fatal(err)
		}
		moves.end(r.Case)
	case "agent_waiting_call":
		child := a.waitsForCall()
		h := a.History(child, "")
		adopt(w, h, run, id, runID)
		move()
		importHistory(w, child, h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetOriginalExecutionRunId(), h)
		if calls := moves.until(r.Case, hasCall).Calls; calls[0].WorkflowID != child {
			t.Fatalf("the run waits for %s, and its call is %s", calls[0].WorkflowID, child)
		}
		w.Approve(child)
		if result := w.ResultOf(child, ""); !result.OK {
			t.Errorf("the call ended with %s: %s", result.ErrorCode, result.SafeMessage)
		}
		moves.end(r.Case)
		if result := w.RunResult(w.Pawl.AttachAgent(t.Context(), "acme", r.Case)); result.Outcome != pawlagent.Completed {
			t.Errorf("the run ended %+v", result)
		}
	case "agent_waiting_model", "agent_waiting_response":
		last := map[string]string{"agent_waiting_model": "timer", "agent_waiting_response": "activity " + contract.AgentAsk.Name()}[r.Case]
		before := a.start(r.Case)
		a.Until(func() bool { return slices.Contains(historytest.Outline(a.History(before, "")), last) }, "the run waits")
		move()
		moves.end(r.Case)
		if result := w.RunResult(w.Pawl.AttachAgent(t.Context(), "acme", r.Case)); result.Outcome != pawlagent.Completed || result.Text != "done" || result.Rounds != 1 {
			t.Errorf("the run ended %+v", result)
		}
	default:
		t.Fatalf("how does %s go on?", r.Case)
	}
	wentOn(w, id, r)
}

// movedRun is moved for a run of an agent. It also moves the deadline of the run, which is in the result of its first step.
func movedRun(w *e2etest.World, h *historypb.History, ago time.Duration) *historypb.History {
	w.T.Helper()
	run := moved(h, ago)
	by := run.GetEvents()[0].GetEventTime().AsTime().Sub(h.GetEvents()[0].GetEventTime().AsTime())
	for _, e := range run.GetEvents() {
		if historytest.ActivityOf(e) != contract.AgentOpen.Name() {
			continue
		}
		var out contract.AgentOpenOut
		result := e.GetMarkerRecordedEventAttributes().GetDetails()["result"].GetPayloads()
		e2etest.Decode(w, result[0], &out)
		out.EndsAtMs += by.Milliseconds()
		payload, err := converter.GetDefaultDataConverter().ToPayload(out)
		if err != nil {
			w.T.Fatal(err)
		}
		result[0] = payload
	}
	return run
}

// adopt changes the history of a call so that its parent is a recorded run in the namespace of the world. Otherwise the call would have the run of the recording
// as its parent.
func adopt(w *e2etest.World, call, run *historypb.History, id, runID string) {
	w.T.Helper()
	described, err := w.Temporal.WorkflowService().DescribeNamespace(w.T.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: w.Namespace})
	if err != nil {
		w.T.Fatal(err)
	}
	started := call.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	started.ParentWorkflowNamespace, started.ParentWorkflowNamespaceId = w.Namespace, described.GetNamespaceInfo().GetId()
	started.ParentWorkflowExecution.WorkflowId, started.ParentWorkflowExecution.RunId = id, runID
	if root := started.GetRootWorkflowExecution(); root != nil {
		root.WorkflowId, root.RunId = id, runID
	}
	for _, e := range run.GetEvents() {
		if initiated := e.GetStartChildWorkflowExecutionInitiatedEventAttributes(); initiated != nil && initiated.GetWorkflowType().GetName() == toolspec.WorkflowType {
			initiated.Namespace, initiated.NamespaceId = w.Namespace, described.GetNamespaceInfo().GetId()
			started.ParentInitiatedEventId = e.GetEventId()
		}
		if begun := e.GetChildWorkflowExecutionStartedEventAttributes(); begun != nil {
			begun.Namespace, begun.NamespaceId = w.Namespace, described.GetNamespaceInfo().GetId()
			begun.WorkflowExecution.RunId = started.GetOriginalExecutionRunId()
		}
	}
}
