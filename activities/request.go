package activities

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/workflows"
)

// Request opens an approval request, bound to a digest of exactly what will run.
// Policy decides once more, with the arguments as they stand now.
func (a *Activities) Request(ctx context.Context, in workflows.RequestIn) (workflows.RequestOut, error) {
	started := time.Now()
	f := in.Facts
	p, err := a.policies.Policy(ctx, f.PolicyDigest)
	if err != nil {
		return workflows.RequestOut{}, err
	}
	decision := p.Decide(PolicyFacts(f, true))
	if decision.Verb == policy.Deny || !decision.Approval.Enabled {
		message := decision.Message
		if decision.Verb != policy.Deny {
			message = "the call needs an approval, and approvals are off for this tenant"
		}
		return workflows.RequestOut{Outcome: workflows.Refused, Failure: &hook.Failure{
			Code: toolspec.CodePolicyDenied, SafeMessage: message, Details: &toolspec.Details{Rule: decision.Rule},
		}}, nil
	}
	digest, err := hydrate.Approved{
		InvocationID: f.InvocationID, ToolID: f.ToolID, ToolDigest: f.ToolDigest, Args: f.Args,
		TenantID: f.Context.TenantID, ActorID: f.Context.ActorID, SubjectID: f.Context.SubjectID, ConnectionID: f.Context.ConnectionID,
	}.Digest()
	if err != nil {
		return workflows.RequestOut{}, err
	}
	view := toolspec.ApprovalView{
		ToolID: f.ToolID, Effect: f.Effect, Risk: decision.Risk, Args: f.SafeArgs, Digest: digest,
		Message: in.Ask.Message, RequestedBy: f.Context.ActorID, Approvers: decision.Approval.Describe(f.Context.ActorID),
	}
	record, err := a.records.Request(ctx, RequestRow{
		InvocationID: f.InvocationID, TenantID: f.Context.TenantID, Epoch: in.Epoch, Last: in.Last, Edits: in.Edits, View: view,
		Granted: hook.GrantedApproval{
			Digest: digest, ToolDigest: f.ToolDigest, Effect: f.Effect, Risk: decision.Risk, RuleDigest: decision.Approval.Digest(),
		},
		Rule: decision.Approval, EditedBy: in.EditedBy, PolicyRule: in.Ask.Rule, PolicyID: f.PolicyDigest,
		ExpireAfter: decision.Approval.ExpiresAfter(),
	})
	if err != nil {
		return workflows.RequestOut{}, err
	}
	if record.Superseded {
		return workflows.RequestOut{Outcome: workflows.Superseded}, nil
	}
	view.ApprovalID = toolspec.ApprovalID(f.InvocationID, record.Number)
	view.ExpiresAtMs = record.ExpiresAt.UnixMilli()
	granted := record.Granted
	granted.ApprovalID, granted.Approver = view.ApprovalID, record.Approver
	return workflows.RequestOut{
		Outcome: workflows.Done, Number: record.Number, View: &view, Granted: &granted,
		RemainingMs: record.Remaining.Milliseconds(), Approved: record.State == workflows.RequestApproved, Edited: record.State == workflows.RequestEdited,
		DurationUs: time.Since(started).Microseconds(),
	}, nil
}

// PolicyFacts is what policy may know of a call. The subject is left out: it
// counts only with a proof, and no proof is verified yet.
func PolicyFacts(f hook.Facts, withArgs bool) policy.Facts {
	facts := policy.Facts{
		TenantID: f.Context.TenantID, ActorID: f.Context.ActorID, RunID: f.Context.RunID, ConnectionID: f.Context.ConnectionID,
		ToolID: f.ToolID, Effect: f.Effect, Risk: f.Risk, ToolIDs: f.Context.ToolIDs,
	}
	if withArgs {
		facts.Args, facts.HasArgs = f.Args, true
	}
	return facts
}
