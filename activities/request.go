package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	if kill := f.Killed(); kill != nil && in.Parked == "" {
		return workflows.RequestOut{Outcome: workflows.Refused, Failure: killed(kill.Reason)}, nil
	}
	p, err := a.policies.Policy(ctx, f.PolicyDigest)
	if err != nil {
		return workflows.RequestOut{}, err
	}
	decision := p.Decide(Tagged(PolicyFacts(f, true), a.source))
	if in.Parked != "" {
		return a.park(ctx, in, decision)
	}
	if decision.Verb == policy.Deny || !decision.Approval.Enabled {
		message := decision.Message
		if decision.Verb != policy.Deny {
			message = "the call needs an approval, and approvals are off for this tenant"
		}
		return workflows.RequestOut{Outcome: workflows.Refused, Failure: &hook.Failure{
			Code: toolspec.CodePolicyDenied, SafeMessage: message, Details: &toolspec.Details{Rule: decision.Rule},
		}}, nil
	}
	digest, err := approved(f).Digest()
	if err != nil {
		return workflows.RequestOut{}, err
	}
	view := viewed(f, decision, digest)
	view.Message = in.Ask.Message
	return a.open(ctx, started, in, decision, view, in.Ask.Rule, decision.Approval.ExpiresAfter())
}

// park asks a person what became of a call. Who may decide on its approval may
// decide on this; where policy lets no call wait so, the answer is Refused.
//
// The request has a digest of its own, "parked" NUL the digest of an approval, in
// hexadecimal SHA-256: no approval is ever taken for it.
func (a *Activities) park(ctx context.Context, in workflows.RequestIn, decision policy.Decision) (workflows.RequestOut, error) {
	started := time.Now()
	wait := decision.Approval.ParkUnknown()
	if wait == 0 {
		return workflows.RequestOut{Outcome: workflows.Refused}, nil
	}
	digest, err := approved(in.Facts).Digest()
	if err != nil {
		return workflows.RequestOut{}, err
	}
	sum := sha256.Sum256([]byte("parked\x00" + digest))
	view := viewed(in.Facts, decision, hex.EncodeToString(sum[:]))
	view.Parked = in.Parked
	return a.open(ctx, started, in, decision, view, decision.Rule, wait)
}

func approved(f hook.Facts) hydrate.Approved {
	return hydrate.Approved{
		InvocationID: f.InvocationID, ToolID: f.ToolID, ToolDigest: f.ToolDigest, Args: f.Args,
		TenantID: f.Context.TenantID, ActorID: f.Context.ActorID, SubjectID: f.Context.SubjectID, ConnectionID: f.Context.ConnectionID,
	}
}

// viewed is what the people who decide see.
func viewed(f hook.Facts, decision policy.Decision, digest string) toolspec.ApprovalView {
	return toolspec.ApprovalView{
		ToolID: f.ToolID, Effect: f.Effect, Risk: decision.Risk, Args: f.SafeArgs, Digest: digest,
		RequestedBy: f.Context.ActorID, Approvers: decision.Approval.Describe(f.Context.ActorID),
	}
}

func (a *Activities) open(
	ctx context.Context, started time.Time, in workflows.RequestIn, decision policy.Decision, view toolspec.ApprovalView, rule string, expireAfter time.Duration,
) (workflows.RequestOut, error) {
	f := in.Facts
	remembered := ""
	if decision.Approval.RememberForMs > 0 && in.Parked == "" && !f.Repaired {
		// What was mended is looked at: an approval of other calls is none of it.

		grants, err := a.records.Grants(ctx, GrantQuery{f.Context.TenantID, f.ToolID, f.Context.ActorID, f.Context.SessionID})
		if err != nil {
			return workflows.RequestOut{}, err
		}
		if g := covering(grants, f, in.EditedBy, granted(f, decision, view.Digest), decision.Approval); g != nil {
			remembered = g.ID
		}
	}
	record, err := a.records.Request(ctx, RequestRow{
		InvocationID: f.InvocationID, TenantID: f.Context.TenantID, Epoch: in.Epoch, Last: in.Last, Edits: in.Edits, View: view,
		Granted: granted(f, decision, view.Digest), Remembered: remembered,
		Hydrations: in.Hydrations,
		Rule:       decision.Approval, EditedBy: in.EditedBy, OnBehalfOf: f.Context.SubjectID, PolicyRule: rule, PolicyID: f.PolicyDigest,
		ExpireAfter: expireAfter,
	})
	if err != nil {
		return workflows.RequestOut{}, err
	}
	if record.Superseded {
		return workflows.RequestOut{Outcome: workflows.Superseded}, nil
	}
	view.ApprovalID = toolspec.ApprovalID(f.InvocationID, record.Number)
	view.ExpiresAtMs = record.ExpiresAt.UnixMilli()
	view.Escalations = decision.Approval.Escalations(record.CreatedAt, record.ExpiresAt)
	approval := record.Granted
	approval.ApprovalID, approval.Approver = view.ApprovalID, record.Approver
	return workflows.RequestOut{
		Outcome: workflows.Done, Number: record.Number, View: &view, Granted: &approval,
		RemainingMs: record.Remaining.Milliseconds(), Approved: record.State == workflows.RequestApproved, Edited: record.State == workflows.RequestEdited,
		DurationUs: time.Since(started).Microseconds(),
	}, nil
}

// granted is what an approval of the call covers.
func granted(f hook.Facts, decision policy.Decision, digest string) hook.GrantedApproval {
	g := hook.GrantedApproval{
		Digest: digest, ToolDigest: f.ToolDigest, Effect: f.Effect, Risk: decision.Risk, RuleDigest: decision.Approval.Digest(),
		ConnectionID: f.Context.ConnectionID,
	}
	if f.Connection != nil {
		g.Generation = f.Connection.Generation
	}
	return g
}

// PolicyFacts is what policy may know of a call. The subject counts only with a
// proof, and is left out without one. Tags are not known: see Tagged.
func PolicyFacts(f hook.Facts, withArgs bool) policy.Facts {
	facts := policy.Facts{
		TenantID: f.Context.TenantID, ActorID: f.Context.ActorID, RunID: f.Context.RunID, ConnectionID: f.Context.ConnectionID,
		ToolID: f.ToolID, Effect: f.Effect, Risk: f.Risk, ToolIDs: f.Context.ToolIDs,
	}
	if f.Submitter != nil && f.Submitter.KeyID != "" {
		facts.SubjectID = f.Context.SubjectID
	}
	facts.TagsUnknown = true
	facts.Repaired, facts.NoSchema = f.Repaired, f.NoSchema
	if withArgs {
		facts.Args, facts.HasArgs = f.Args, true
	}
	return facts
}

// Tagged adds the tags that the tool has in this worker. One without the tool
// knows none.
func Tagged(facts policy.Facts, tools Source) policy.Facts {
	if bound, here := tools.Get(facts.ToolID); here {
		facts.Tags, facts.TagsUnknown = bound.Tags(), false
	}
	return facts
}
