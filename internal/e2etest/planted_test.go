package e2etest

import (
	"time"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	acts "github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows"
	"github.com/pawl-run/pawl/workflows/historytest"
)

// plant writes the record of a recorded call, step by step as its history says that the call wrote it: the plan, the requests, what was
// decided on them, and the attempts that ended.
func (w *world) plant(h *historypb.History) toolspec.Invocation {
	w.t.Helper()
	p := planted{world: w}
	for _, e := range h.GetEvents() {
		switch {
		case e.GetWorkflowExecutionStartedEventAttributes() != nil:
			decode(w, e.GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()[0], &p.inv)
			p.runID, p.startedAt = e.GetWorkflowExecutionStartedEventAttributes().GetOriginalExecutionRunId(), e.GetEventTime().AsTime()
		case e.GetWorkflowExecutionSignaledEventAttributes() != nil:
			decode(w, e.GetWorkflowExecutionSignaledEventAttributes().GetInput().GetPayloads()[0], &p.decision)
		case e.GetWorkflowExecutionUpdateAcceptedEventAttributes() != nil:
			decode(w, e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput().GetArgs().GetPayloads()[0], &p.decision)
		case e.GetActivityTaskScheduledEventAttributes() != nil:
			p.dispatch++
		case e.GetActivityTaskCompletedEventAttributes() != nil:
			var out workflows.ExecuteOut
			decode(w, e.GetActivityTaskCompletedEventAttributes().GetResult().GetPayloads()[0], &out)
			p.attempted(out)
		case e.GetMarkerRecordedEventAttributes() != nil:
			p.step(e)
		}
	}
	return p.inv
}

// planted is what plant knows so far.
type planted struct {
	*world
	inv       toolspec.Invocation
	runID     string
	startedAt time.Time
	admitted  workflows.AdmitOut
	request   workflows.RequestOut
	editedBy  string
	decision  toolspec.Decision
	gate      int
	dispatch  int
}

func (p *planted) step(e *historypb.HistoryEvent) {
	p.t.Helper()
	ctx, result := p.t.Context(), e.GetMarkerRecordedEventAttributes().GetDetails()["result"]
	take := func(to any) {
		p.t.Helper()
		if err := converter.GetDefaultDataConverter().FromPayloads(result, to); err != nil {
			p.t.Fatal(err)
		}
	}
	var err error
	switch historytest.ActivityOf(e) {
	case workflows.Admit.Name():
		take(&p.admitted)
		_, err = p.store.Admit(ctx, acts.AdmitRow{
			InvocationID: p.admitted.InvocationID, InputDigest: p.admitted.InputDigest, WorkflowID: p.inv.Identity().WorkflowID(), RunID: p.runID,
			Namespace: p.namespace, Invocation: p.inv, Plan: *p.admitted.Plan, StartedAt: p.startedAt,
		})
	case workflows.Request.Name():
		take(&p.request)
		_, err = p.store.Request(ctx, acts.RequestRow{
			InvocationID: p.admitted.InvocationID, TenantID: p.inv.Context.TenantID, Epoch: p.admitted.Epoch, Last: p.request.Number - 1,
			View: *p.request.View, Granted: *p.request.Granted, Rule: policy.ApprovalRule{Enabled: true, AllowUnsigned: true}, EditedBy: p.editedBy,
			PolicyID: p.admitted.PolicyDigest, ExpireAfter: time.Hour,
		})
	case workflows.Review.Name():
		var out workflows.ReviewOut
		take(&out)
		p.gate++
		row := acts.ReviewRow{
			InvocationID: p.admitted.InvocationID, TenantID: p.inv.Context.TenantID, ApprovalID: p.request.View.ApprovalID,
			Epoch: p.admitted.Epoch, Gate: p.gate,
		}
		if p.decision.ApprovalID != "" {
			decision := p.decision
			row.Decision, row.Judge = &decision, func(acts.OpenRequest) (acts.Judgement, error) {
				return acts.Judgement{Answer: out.Answer, Final: true}, nil
			}
			p.decision = toolspec.Decision{}
		}
		if out.State == workflows.RequestEdited {
			p.editedBy = out.Approver
		}
		_, err = p.store.Review(ctx, row)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// attempted claims what an attempt had claimed, unless the worker sent it back.
func (p *planted) attempted(out workflows.ExecuteOut) {
	p.t.Helper()
	if out.Outcome == workflows.NotHere || out.Outcome == workflows.Changed {
		return
	}
	outcome, err := p.store.Claim(p.t.Context(), acts.ClaimRow{
		InvocationID: p.admitted.InvocationID, Epoch: p.admitted.Epoch, Dispatch: p.dispatch, Repeatable: p.admitted.Plan.Repeatable,
	})
	if err != nil || outcome != workflows.Done {
		p.t.Fatalf("the claim of dispatch %d: %s, %v", p.dispatch, outcome, err)
	}
}
