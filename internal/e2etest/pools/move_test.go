package pools

import (
	"errors"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestMove: a call of a tool that only a pool has moves to the task queue of the pool. Its identity, memo, search attributes, summary and timeouts stay the
// same, the record has one start event, and a client that starts the call again attaches to it.
func TestMove(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	key, _ := w.Submitter()
	w.Work(worker.Tools(e2etest.Tool("test__both", e2etest.Shown)))
	inPool(w, "media", e2etest.Tool("test__clip", e2etest.Echo, e2etest.Fast), e2etest.Tool("test__both", e2etest.Shown),
		e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky))

	e2etest.WantText(t, w.Invoke(e2etest.Invocation("clip", "test__clip", `{"text":"hello"}`)), "hello")
	if got := queues(w, "tool:acme:run:clip"); got != "pawl pawl-media" {
		t.Errorf("the call of a tool of the pool was on %s", got)
	}
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("both", "test__both", `{}`)), "shown")
	if got := queues(w, "tool:acme:run:both"); got != "pawl" {
		t.Errorf("the call of a tool that the taking worker has was on %s", got)
	}

	w.Relate("acme", authz.Relation{Kind: authz.Delegates, Subject: e2etest.Actor, Object: e2etest.Sue, Tools: "test__send"})
	inv := w.OnBehalf("send", "test__send", key)
	id := inv.Identity().WorkflowID()
	run, err := w.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: id, TaskQueue: toolspec.TaskQueue, WorkflowTaskTimeout: 7 * time.Second, WorkflowExecutionTimeout: time.Hour,
		Memo: map[string]any{"ticket": "T-1"}, StaticSummary: "a summary",
	}, toolspec.WorkflowType, inv)
	if err != nil {
		t.Fatal(err)
	}
	w.Waiting(id)
	described := w.Describe(id)
	info := described.GetWorkflowExecutionInfo()
	start := w.History(id, "").GetEvents()[0]
	started := start.GetWorkflowExecutionStartedEventAttributes()
	if _, has := info.GetMemo().GetFields()["ticket"]; !has || info.GetTaskQueue() != "pawl-media" ||
		described.GetExecutionConfig().GetDefaultWorkflowTaskTimeout().AsDuration() != 7*time.Second || started.GetWorkflowExecutionTimeout().AsDuration() != time.Hour {
		t.Errorf("the call in the pool is %v, with %v", info, described.GetExecutionConfig())
	}
	if got := w.Attributes(id); got["PawlTenant"] != "acme" || got["PawlStatus"] != string(toolspec.StatusWaitingApproval) {
		t.Errorf("its search attributes are %v", got)
	}
	again := w.Start(inv)
	if state := w.State(id); state.Approval == nil {
		t.Error("the state of the moved call has no request")
	}
	w.Approve(id)
	e2etest.WantText(t, w.Result(again), "hello")
	e2etest.WantText(t, w.Ended(run), "hello") // a handle of the first run follows the call to its last run
	record := w.Record(inv)
	if effects.Of("send") != 1 || queues(w, id) != "pawl pawl-media" {
		t.Errorf("the tool ran %d times, on %s", effects.Of("send"), queues(w, id))
	}
	if record.TemporalRunID != info.GetExecution().GetRunId() {
		t.Errorf("the record names the run %s, want the one in the pool, %s", record.TemporalRunID, info.GetExecution().GetRunId())
	}
	w.WantSound(id)
	w.Replay(id)
	closed := w.Describe(id).GetWorkflowExecutionInfo()
	if closed.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		t.Errorf("the call is %s", closed.GetStatus())
	}
}

// TestSignalsBeforeTheMove: a decision that arrives before its request, on a task queue that the call then leaves, counts. A call that is cancelled on that
// queue ends there.
func TestSignalsBeforeTheMove(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	inPool(w, "media", e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky))

	early := w.Start(e2etest.Invocation("early", "test__send", `{"text":"hello"}`))
	for _, d := range []toolspec.Decision{
		{ApprovalID: toolspec.ApprovalID(early.InvocationID, 1), Decision: toolspec.Edit, Approver: e2etest.Ann, EditedArgs: []byte(`{"text":"edited"}`)},
		{ApprovalID: toolspec.ApprovalID(early.InvocationID, 2), Decision: toolspec.Approve, Approver: e2etest.Ben},
	} {
		if err := w.Temporal.SignalWorkflow(t.Context(), early.WorkflowID, "", toolspec.DecideName, d); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Temporal.SignalWorkflow(t.Context(), early.WorkflowID, "", toolspec.RecheckName, nil); err != nil {
		t.Fatal(err)
	}
	cancelled := w.Start(e2etest.Invocation("cancelled", "test__send", `{"text":"hello"}`))
	if err := w.Pawl.Cancel(t.Context(), cancelled.WorkflowID); err != nil {
		t.Fatal(err)
	}
	w.Work() // the calls have had no worker of the shared queue until now
	e2etest.WantText(t, w.Result(early), "edited")
	e2etest.WantCode(t, w.Result(cancelled), toolspec.CodeCancelled)
	if got := queues(w, early.WorkflowID); got != "pawl pawl-media" {
		t.Errorf("the call with decisions was on %s", got)
	}
	if got := queues(w, cancelled.WorkflowID); got != "pawl" {
		t.Errorf("the cancelled call was on %s", got)
	}
	if effects.Of("early") != 1 || effects.Of("cancelled") != 0 {
		t.Errorf("the tool ran %v times", effects.Counts)
	}
}

// TestToolMoves: a call follows its tool. It does so while it waits for an approval in a pool that loses the tool, when the tool appears in a pool only later,
// and when the tool is on the shared queue again. An edit that has counted still counts after the move.
func TestToolMoves(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	send := e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)
	other := e2etest.Tool("test__other", e2etest.Echo)
	w.Work()
	stop := inPool(w, "a", send)
	call := w.Start(e2etest.Invocation("send", "test__send", `{"text":"hello"}`))
	first := w.Waiting(call.WorkflowID)
	answer := w.Decide(call.WorkflowID, toolspec.Decision{
		ApprovalID: first.ApprovalID, Decision: toolspec.Edit, Approver: e2etest.Ann, EditedArgs: []byte(`{"text":"edited"}`),
	})
	if !answer.Counted {
		t.Fatalf("the edit did not count: %s", answer.Reason)
	}
	second := w.Waiting(call.WorkflowID, first.ApprovalID)
	stop()
	forget(w, "a")
	inPool(w, "a", other) // the next release of the pool, without the tool
	stop = inPool(w, "b", send)
	if answer := w.Decide(call.WorkflowID, toolspec.Decision{ApprovalID: second.ApprovalID, Decision: toolspec.Approve, Approver: e2etest.Ben}); !answer.Counted {
		t.Fatalf("the approval did not count: %s", answer.Reason)
	}
	e2etest.WantText(t, w.Result(call), "edited")
	if got := queues(w, call.WorkflowID); got != "pawl pawl-a pawl-b" || effects.Of("send") != 1 {
		t.Errorf("the call was on %s, and its tool ran %d times", got, effects.Of("send"))
	}

	stop()
	late := w.Start(e2etest.Invocation("late", "test__send", `{"text":"hello"}`))
	w.Until(func() bool { return queues(w, late.WorkflowID) == "pawl pawl-b" }, "the call is in the pool whose last worker has stopped")
	forget(w, "b")
	w.Work(worker.Tools(send))
	inPool(w, "b", other)
	w.Approve(late.WorkflowID)
	e2etest.WantText(t, w.Result(late), "hello")
	if got := queues(w, late.WorkflowID); got != "pawl pawl-b pawl" || effects.Of("late") != 1 {
		t.Errorf("the call was on %s, and its tool ran %d times", got, effects.Of("late"))
	}
}

// TestToolNobodyHas: a call of a tool that no worker has ever had ends immediately, also while pools have workers.
func TestToolNobodyHas(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work()
	inPool(w, "a", e2etest.Tool("test__other", e2etest.Echo))
	e2etest.WantCode(t, w.Invoke(e2etest.Invocation("none", "test__none", `{}`)), toolspec.CodeUnavailable)
}

// TestForgedQueue: a workflow that did not start on the shared queue is not treated as a call, whatever the name of its task queue.
func TestForgedQueue(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	inv := e2etest.Invocation("forged", "test__send", `{}`)
	if _, err := w.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: inv.Identity().WorkflowID(), TaskQueue: "pawl-evil",
	}, toolspec.WorkflowType, inv); err != nil {
		t.Fatal(err)
	}
	var failed *pawl.CallError
	if _, err := w.Pawl.Start(t.Context(), inv); !errors.As(err, &failed) || failed.Result.ErrorCode != toolspec.CodeConflict {
		t.Errorf("starting the call gives %v", err)
	}
	if _, err := w.Pawl.State(t.Context(), inv.Identity().WorkflowID()); err == nil {
		t.Error("a client asks the forged call for its state")
	}
}
