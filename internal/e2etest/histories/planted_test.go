package histories

import (
	"context"
	"slices"
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
// them, the attempts that have ended, and the claims of attempts that were lost with their workflow task.
func plant(w *e2etest.World, h *historypb.History) toolspec.Invocation {
	w.T.Helper()
	p := planted{World: w, lost: checkedClaims(w, h)}
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
	lost      []contract.Claim // the claims that the history names, until those of earlier executions are written
}

// checkedClaims returns the claims that a step of the call has found in its record. The claim of an attempt in a lost workflow task is in no other event.
func checkedClaims(w *e2etest.World, h *historypb.History) (claims []contract.Claim) {
	w.T.Helper()
	for _, e := range h.GetEvents() {
		if a := e.GetMarkerRecordedEventAttributes(); a.GetFailure() == nil && historytest.ActivityOf(e) == contract.Check.Name() {
			var out contract.CheckOut
			e2etest.Decode(w, a.GetDetails()["result"].GetPayloads()[0], &out)
			claims = out.Claims
		}
	}
	return claims
}

// admit writes the record of the call. A higher epoch than that of the record belongs to a later execution: an execution before it was lost with its workflow
// task, or moved the call to this task queue.
func (p *planted) admit() error {
	p.T.Helper()
	row := admit.Row{
		InvocationID: p.admitted.InvocationID, InputDigest: p.admitted.InputDigest, WorkflowID: p.inv.Identity().WorkflowID(), RunID: p.runID,
		Namespace: p.Namespace, Invocation: p.inv, Plan: *p.admitted.Plan, StartedAt: p.startedAt,
	}
	record, err := p.Store.Admit(p.executing(), row)
	for err == nil && record.Epoch < p.admitted.Epoch {
		for _, c := range p.lost {
			if c.Dispatch <= p.admitted.Rounds.Dispatch {
				p.claim(record.Epoch, c)
			}
		}
		p.lost = nil
		record, err = p.Store.Admit(p.executing(), row)
	}
	p.dispatch = p.admitted.Rounds.Dispatch
	if err == nil && (record.Epoch != p.admitted.Epoch || record.Rounds.Dispatch != p.dispatch) {
		p.T.Fatalf("the record has epoch %d and dispatch %d, and was recorded with %d and %d", record.Epoch, record.Rounds.Dispatch, p.admitted.Epoch, p.dispatch)
	}
	return err
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
		err = p.admit()
	case contract.Execute.Name(): // in the claimed lane
		var out contract.ExecuteOut
		take(&out)
		if out.Outcome != contract.Claimed { // another outcome has a claim, which this function does not write
			p.T.Fatalf("an attempt inside the workflow task was recorded as %s", out.Outcome)
		}
		p.dispatch++
	case contract.Check.Name(): // this step raises the epoch
		var recorded, planted contract.CheckOut
		take(&recorded)
		p.dispatch++
		planted, err = p.Store.Check(ctx, contract.CheckIn{InvocationID: p.admitted.InvocationID, Dispatch: p.dispatch, Epoch: p.admitted.Epoch})
		if err == nil && (planted.Outcome != recorded.Outcome || planted.Epoch != recorded.Epoch || !slices.Equal(planted.Claims, recorded.Claims)) {
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
	if out.ClaimID != "" {
		p.claim(p.admitted.Epoch, contract.Claim{Dispatch: p.dispatch, ID: out.ClaimID})
	}
}

func (p *planted) claim(epoch int, c contract.Claim) {
	p.T.Helper()
	outcome, err := p.Store.Claim(p.executing(), attempt.ClaimRow{
		InvocationID: p.admitted.InvocationID, TenantID: p.inv.Context.TenantID, ToolID: p.inv.ToolID, Epoch: epoch,
		Dispatch: c.Dispatch, ClaimID: c.ID, Repeatable: p.admitted.Plan.Repeatable,
	})
	if err != nil || outcome != contract.Done {
		p.T.Fatalf("the claim of dispatch %d: %s, %v", c.Dispatch, outcome, err)
	}
}
