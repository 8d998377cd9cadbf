package histories

import (
	"context"
	"time"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/historytest"
)

// plant writes the record of a recorded call. It makes the same writes as the call made according to its history: the plan, the requests, the decisions on
// them, and the attempts that have ended.
func plant(w *e2etest.World, h *historypb.History) toolspec.Invocation {
	w.T.Helper()
	p := planted{World: w}
	for _, e := range h.GetEvents() {
		switch {
		case e.GetWorkflowExecutionStartedEventAttributes() != nil:
			e2etest.Decode(w, e.GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()[0], &p.inv)
			p.runID, p.startedAt = e.GetWorkflowExecutionStartedEventAttributes().GetOriginalExecutionRunId(), e.GetEventTime().AsTime()
		case e.GetWorkflowExecutionSignaledEventAttributes() != nil:
			e2etest.Decode(w, e.GetWorkflowExecutionSignaledEventAttributes().GetInput().GetPayloads()[0], &p.decision)
		case e.GetWorkflowExecutionUpdateAcceptedEventAttributes() != nil:
			e2etest.Decode(w, e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput().GetArgs().GetPayloads()[0],
				&p.decision)
		case e.GetActivityTaskScheduledEventAttributes() != nil:
			p.dispatch++
		case e.GetActivityTaskCompletedEventAttributes() != nil:
			var out contract.ExecuteOut
			e2etest.Decode(w, e.GetActivityTaskCompletedEventAttributes().GetResult().GetPayloads()[0], &out)
			p.attempted(out)
		case e.GetMarkerRecordedEventAttributes() != nil:
			p.step(e)
		}
	}
	return p.inv
}

// plantWorkerKey gives the record the worker key that signs the permits of recorded calls, so that the permits count where the calls are imported. A worker that
// starts later uses this key.
func plantWorkerKey(w *e2etest.World) {
	w.T.Helper()
	e2etest.Query[int](w, `INSERT INTO worker_keys (secret) VALUES (sha256('recorded'))`)
}

// planted is the state of plant, which has read the history up to some event.
type planted struct {
	*e2etest.World
	inv       toolspec.Invocation
	runID     string
	startedAt time.Time
	admitted  contract.AdmitOut
	request   contract.RequestOut
	editedBy  string
	decision  toolspec.Decision
	gate      int
	dispatch  int
}

func (p *planted) step(e *historypb.HistoryEvent) {
	p.T.Helper()
	if e.GetMarkerRecordedEventAttributes().GetFailure() != nil {
		return // the step has written nothing
	}
	ctx, result := p.executing(), e.GetMarkerRecordedEventAttributes().GetDetails()["result"]
	take := func(to any) {
		p.T.Helper()
		if err := converter.GetDefaultDataConverter().FromPayloads(result, to); err != nil {
			p.T.Fatal(err)
		}
	}
	var err error
	switch historytest.ActivityOf(e) {
	case contract.Admit.Name():
		take(&p.admitted)
		_, err = p.Store.Admit(ctx, admit.Row{
			InvocationID: p.admitted.InvocationID, InputDigest: p.admitted.InputDigest, WorkflowID: p.inv.Identity().WorkflowID(), RunID: p.runID,
			Namespace: p.Namespace, Invocation: p.inv, Plan: *p.admitted.Plan, StartedAt: p.startedAt,
		})
	case contract.Check.Name(): // this step raises the epoch
		var recorded, planted contract.CheckOut
		take(&recorded)
		p.dispatch++
		planted, err = p.Store.Check(ctx, contract.CheckIn{InvocationID: p.admitted.InvocationID, Dispatch: p.dispatch, Epoch: p.admitted.Epoch})
		if err == nil && (planted.Outcome != recorded.Outcome || planted.Epoch != recorded.Epoch) {
			p.T.Fatalf("dispatch %d is %+v, and was recorded as %+v", p.dispatch, planted, recorded)
		}
		p.admitted.Epoch = recorded.Epoch
	case contract.Request.Name():
		take(&p.request)
		_, err = p.Store.Request(ctx, approval.RequestRow{
			InvocationID: p.admitted.InvocationID, TenantID: p.inv.Context.TenantID, Epoch: p.admitted.Epoch, Last: p.request.Number - 1,
			View: *p.request.View, Granted: *p.request.Granted, Rule: policy.ApprovalRule{Enabled: true, AllowUnsigned: true},
			EditedBy: p.editedBy,
			PolicyID: p.admitted.PolicyDigest, ExpireAfter: time.Hour,
		})
	case contract.Review.Name():
		var out contract.ReviewOut
		take(&out)
		p.gate++
		row := approval.LookRow{
			InvocationID: p.admitted.InvocationID, TenantID: p.inv.Context.TenantID, ApprovalID: p.request.View.ApprovalID,
			Epoch: p.admitted.Epoch, Gate: p.gate,
		}
		if p.decision.ApprovalID != "" {
			decision := p.decision
			row.Decision = &decision
			p.decision = toolspec.Decision{}
		}
		if out.State == contract.RequestEdited {
			p.editedBy = out.Approver
		}
		_, err = approval.ReviewWith(ctx, p.Store, row, func(approval.OpenRequest) (approval.Judgement, error) {
			return approval.Judgement{Answer: out.Answer, Final: true}, nil
		})
	}
	if err != nil {
		p.T.Fatal(err)
	}
}

// executing returns a context in which the recorded run executes.
func (p *planted) executing() context.Context {
	return contract.WithExecution(p.T.Context(), contract.Execution{RunID: p.runID, Local: true})
}

// attempted writes the claim of an attempt, unless the worker sent the task back without one.
func (p *planted) attempted(out contract.ExecuteOut) {
	p.T.Helper()
	if out.ClaimID == "" {
		return
	}
	outcome, err := p.Store.Claim(p.executing(), attempt.ClaimRow{
		InvocationID: p.admitted.InvocationID, TenantID: p.inv.Context.TenantID, ToolID: p.inv.ToolID, Epoch: p.admitted.Epoch,
		Dispatch: p.dispatch, ClaimID: out.ClaimID, Repeatable: p.admitted.Plan.Repeatable,
	})
	if err != nil || outcome != contract.Done {
		p.T.Fatalf("the claim of dispatch %d: %s, %v", p.dispatch, outcome, err)
	}
}
