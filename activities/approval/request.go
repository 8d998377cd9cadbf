package approval

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/strictjson"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Request opens an approval request. The request is bound to a digest of exactly the call
// that will run. Policy decides again, with the current arguments: the outcome is Refused
// if policy denies the call or approvals are off.
func (a *Approvals) Request(ctx context.Context, in contract.RequestIn) (contract.RequestOut, error) {
	started := time.Now()
	f := in.Facts
	// A kill switch stops a tool before it runs. The tool of a parked call may have run
	// already, so a kill switch does not prevent the question.
	if kill := f.Killed(); kill != nil && in.Parked == "" {
		return contract.RequestOut{Outcome: contract.Refused, Failure: judge.KillFailure(kill.Reason)}, nil
	}
	p, err := a.parts.policy(ctx, f.PolicyDigest)
	if err != nil {
		return contract.RequestOut{}, err
	}
	decision, err := judge.Decide(ctx, a.parts.PolicyEngines, p, judge.AtWorker(judge.PolicyFacts(f, true), f.ToolDigest, a.parts.Tools))
	if err != nil {
		return contract.RequestOut{}, err
	}
	// The tool of a parked call may have run already, so a deny of policy cannot stop it.
	if in.Parked != "" {
		return a.park(ctx, in, decision)
	}
	if decision.Verb == policy.Deny || !decision.Approval.Enabled {
		message := decision.Message
		if decision.Verb != policy.Deny {
			message = "the call needs an approval, and approvals are off for this tenant"
		}
		return contract.RequestOut{Outcome: contract.Refused, Failure: &hook.Failure{
			Code: toolspec.CodePolicyDenied, SafeMessage: message, Details: &toolspec.Details{Rule: decision.Rule},
		}}, nil
	}
	digest, err := judge.Approved(f).Digest()
	if err != nil {
		return contract.RequestOut{}, err
	}
	rule, err := ruleOf(decision.Approval, in.Asks)
	if err != nil {
		return contract.RequestOut{}, err
	}
	if in.Ask.Hook != "" || len(in.Asks) > 0 {
		rule = rule.Unremembered() // an approval of other calls does not answer the question of a hook
	}
	view := viewOf(f, decision, digest)
	view.Message = message(in.Ask, in.Asks)
	return a.openRequest(ctx, started, in, decision, rule, view, in.Ask.Rule, rule.ExpiresAfter())
}

// park opens a request that asks a person whether a call took effect. The people whom policy names for an
// approval may decide on this request. People whom a hook names may not, even if the decision runs the tool
// again. If policy lets no call wait for such a decision, the outcome is Refused without a failure.
//
// The request has its own digest: the hexadecimal SHA-256 of "parked", a NUL byte and the digest of an
// approval. So an approval of the call never counts for this request.
func (a *Approvals) park(ctx context.Context, in contract.RequestIn, decision policy.Decision) (contract.RequestOut, error) {
	started := time.Now()
	wait := decision.Approval.ParkUnknown()
	if wait == 0 {
		return contract.RequestOut{Outcome: contract.Refused}, nil
	}
	digest, err := judge.Approved(in.Facts).Digest()
	if err != nil {
		return contract.RequestOut{}, err
	}
	sum := sha256.Sum256([]byte("parked\x00" + digest))
	view := viewOf(in.Facts, decision, hex.EncodeToString(sum[:]))
	view.Parked = in.Parked
	return a.openRequest(ctx, started, in, decision, decision.Approval, view, decision.Rule, wait)
}

// viewOf returns the view of the call, without its approvers.
func viewOf(f hook.Facts, decision policy.Decision, digest string) toolspec.ApprovalView {
	return toolspec.ApprovalView{
		ToolID: f.ToolID, Effect: f.Effect, Risk: decision.Risk, Args: f.SafeArgs, Digest: digest, RequestedBy: f.Context.ActorID,
		OnBehalfOf: f.Context.SubjectID,
	}
}

// openRequest writes a request with the rule, and returns it. If the record has a request for the same digest, it
// returns that request with its own rule. If a remembered approval covers the call, the request is approved at
// once. askedBy is the name of the policy rule that asks; expireAfter is the lifetime of a new request.
func (a *Approvals) openRequest(
	ctx context.Context, started time.Time, in contract.RequestIn, decision policy.Decision, rule policy.ApprovalRule, view toolspec.ApprovalView, askedBy string,
	expireAfter time.Duration,
) (contract.RequestOut, error) {
	f := in.Facts
	view.Approvers = rule.Describe(view.RequestedBy, view.OnBehalfOf)
	remembered := ""
	// A person must see repaired arguments, so an approval of another call does not cover them.
	if rule.RememberForMs > 0 && in.Parked == "" && !f.Repaired {
		digest, err := strictjson.Digest(f.Args)
		if err != nil {
			return contract.RequestOut{}, err
		}
		grants, err := a.parts.Requests.Grants(ctx, GrantQuery{f.Context.TenantID, f.ToolID, f.Context.ActorID, f.Context.SessionID, digest})
		if err != nil {
			return contract.RequestOut{}, err
		}
		if g := findGrant(grants, digest, f, in.EditedBy, grantedApproval(f, decision, view.Digest), rule); g != nil {
			remembered = g.ID
		}
	}
	row := RequestRow{
		InvocationID: f.InvocationID, TenantID: f.Context.TenantID, Epoch: in.Epoch, Last: in.Last, Edits: in.Edits, View: view,
		Granted: grantedApproval(f, decision, view.Digest), Remembered: remembered,
		Hydrations: in.Hydrations,
		Rule:       rule, EditedBy: in.EditedBy, PolicyRule: askedBy, PolicyID: f.PolicyDigest,
		ExpireAfter: expireAfter, GivesBack: in.GivesBack, Capacity: in.Capacity,
	}
	record, err := a.recordRequest(ctx, f, row)
	if err == nil && record.Superseded && remembered != "" {
		// The remembered approval may have ended since it was read.
		row.Remembered = ""
		record, err = a.recordRequest(ctx, f, row)
	}
	if err != nil {
		return contract.RequestOut{}, err
	}
	if record.Superseded {
		return contract.RequestOut{Outcome: contract.Superseded}, nil
	}
	view.ApprovalID = toolspec.ApprovalID(f.InvocationID, record.Number)
	view.ExpiresAtMs = record.ExpiresAt.UnixMilli()
	// People have seen the recorded preview. A new preview may differ, for example if a file has changed.
	view.Preview, view.PreviewDigest = record.Preview, record.Granted.PreviewDigest
	// The recorded rule counts, even if hooks name other approvers by now.
	view.Approvers = record.Rule.Describe(view.RequestedBy, view.OnBehalfOf)
	view.Escalations = record.Rule.Escalations(record.CreatedAt, record.ExpiresAt)
	approval := record.Granted
	approval.ApprovalID, approval.Approver, approval.Asked, approval.SubjectID = view.ApprovalID, record.Approver, "", ""
	return contract.RequestOut{
		Outcome: contract.Done, Number: record.Number, View: &view, Granted: &approval,
		RemainingMs: record.Remaining.Milliseconds(), Approved: record.State == contract.RequestApproved, Edited: record.State == contract.RequestEdited,
		Accepts:    a.acceptanceOf(record.Rule, f.Context.ActorID, f.Context.SubjectID, record.Keys),
		DurationUs: time.Since(started).Microseconds(),
	}, nil
}

// grantedApproval returns what an approval of the call covers, such as its tool, its risk and its connection.
func grantedApproval(f hook.Facts, decision policy.Decision, digest string) hook.GrantedApproval {
	g := hook.GrantedApproval{
		Digest: digest, ToolDigest: f.ToolDigest, Effect: f.Effect, Risk: decision.Risk, RuleDigest: decision.Approval.Digest(),
		ConnectionID: f.Context.ConnectionID, Asked: cmp.Or(decision.Asked, decision.Rule), SubjectID: f.Context.SubjectID,
	}
	if f.Connection != nil {
		g.Generation = f.Connection.Generation
	}
	return g
}

// recordRequest records the request. It first makes the preview for people, unless the tool has run already or
// a remembered approval covers the call.
func (a *Approvals) recordRequest(ctx context.Context, f hook.Facts, row RequestRow) (record RequestRecord, err error) {
	if row.View.Parked == "" && row.Remembered == "" {
		if row.View.Preview, row.Granted.PreviewDigest, err = a.parts.Previews.Show(ctx, f); err != nil {
			return RequestRecord{}, err
		}
	}
	return a.parts.Requests.Request(ctx, row)
}
