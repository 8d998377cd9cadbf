package approval

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Review verifies and records a decision. Without a decision it returns the state of the
// request. The sender of a signal proves nothing: a decision counts only after Review has
// verified it.
func (a *Approvals) Review(ctx context.Context, in contract.ReviewIn) (contract.ReviewOut, error) {
	started := time.Now()
	row := LookRow{
		InvocationID: in.InvocationID, TenantID: in.TenantID, ApprovalID: in.ApprovalID,
		Epoch: in.Epoch, Gate: in.Gate, Capacity: in.Capacity, Decision: in.Decision, Close: in.Close, Refresh: in.Refresh,
	}
	if in.Decision != nil {
		row.KeyID = proof.KeyID(in.Decision.Proof)
	}
	var edited, safe json.RawMessage
	record, err := ReviewWith(ctx, a.parts.Requests, row, func(open OpenRequest) (j Judgement, err error) {
		if j, err = a.judge(ctx, in, open); err == nil && j.Counted && in.Decision.Decision == toolspec.Edit {
			edited, safe, j.Answer = a.validateEdit(in, in.Decision.EditedArgs)
		}
		return j, err
	})
	if err != nil {
		return contract.ReviewOut{}, err
	}
	if record.Superseded {
		return contract.ReviewOut{Outcome: contract.Superseded}, nil
	}
	if record.State == contract.RequestEdited && record.Answer.Counted && edited == nil && in.Decision != nil {
		// The record had this decision before this activity ran, so the decision was not judged again. Its edited
		// arguments are the same as the first time. If this worker cannot validate them, the activity hydrate
		// validates them later.
		if edited, safe, _ = a.validateEdit(in, in.Decision.EditedArgs); edited == nil {
			edited = in.Decision.EditedArgs
		}
	}
	var accepts *contract.Acceptance
	if r := record.Request; r != nil {
		accepts = a.acceptanceOf(r.Rule, r.RequestedBy, r.OnBehalfOf, record.Keys)
	}
	return contract.ReviewOut{
		Outcome: contract.Done, Answer: record.Answer, State: record.State, PolicyDigest: record.PolicyDigest, Kills: record.Kills, Connection: record.Connection,
		RemainingMs: record.Remaining.Milliseconds(), Approver: record.Approver, EditedArgs: edited, SafeArgs: safe, Accepts: accepts,
		DurationUs: time.Since(started).Microseconds(),
	}, nil
}

// judge verifies the proof of the decision in in and says whether the decision counts.
func (a *Approvals) judge(ctx context.Context, in contract.ReviewIn, open OpenRequest) (Judgement, error) {
	d := *in.Decision
	who, err := a.identifyApprover(ctx, open, in.TenantID, d)
	switch {
	case errs.IsTransient(err):
		// Nothing is recorded, so the same decision can still count later.
		a.parts.Log.WarnContext(ctx, "a decision is to be sent again: its ID token cannot be verified now", "approvalId", in.ApprovalID, "reason", errs.Reason(err))
		return Judgement{Answer: toolspec.Answer{Reason: notVerified, Again: true}}, nil
	case err != nil:
		return Judgement{}, err
	case who.refusal != "":
		return Judgement{Answer: toolspec.Answer{Reason: who.refusal}, Final: true}, nil
	}
	who.voter.Roles, err = a.rolesOf(ctx, open, in.TenantID, d.Approver)
	switch {
	case errors.Is(err, judge.ErrPolicyUnreadable):
		return Judgement{Answer: toolspec.Answer{Reason: "this worker cannot read the policy; try again", Again: true}}, nil
	case err != nil:
		return Judgement{}, err
	}
	j := decide(open, who.voter, d, remembering{in.Args, in.SessionID})
	j.KeyID = who.keyID
	return j, nil
}

// rolesOf returns the current roles of an approver, by the active policy and by relations. An approver who has
// lost a role while the call waited may no longer decide by this role. rolesOf returns nil if the rule of the
// request names no role.
func (a *Approvals) rolesOf(ctx context.Context, open OpenRequest, tenantID, approver string) ([]string, error) {
	if !open.Rule.NeedsRoles() {
		return nil, nil
	}
	p, err := a.parts.policy(ctx, open.PolicyDigest)
	if err != nil {
		return nil, err
	}
	held, err := a.parts.Requests.Roles(ctx, tenantID, approver)
	if err != nil {
		return nil, err
	}
	roles := p.Roles(tenantID, approver)
	for _, r := range held {
		roles = append(roles, strings.TrimPrefix(r, authz.RolePrefix))
	}
	return roles, nil
}

// validateEdit validates the arguments of an approver. If they are not valid, the decision does not count and
// the request stays open. If this worker cannot validate them, nothing is recorded, so the same decision can
// still count on another worker.
func (a *Approvals) validateEdit(in contract.ReviewIn, raw json.RawMessage) (args, safe json.RawMessage, answer toolspec.Answer) {
	bound, ok := a.parts.Tools.Find(in.ToolID, in.ToolDigest)
	if !ok {
		return nil, nil, toolspec.Answer{Reason: "this worker does not have the tool; try again", Again: true}
	}
	args, safe, failure := a.parts.Validate(bound, raw)
	switch {
	case failure == nil:
		return args, safe, toolspec.Answer{Counted: true}
	case failure.Code == toolspec.CodeInternal:
		return nil, nil, toolspec.Answer{Reason: failure.SafeMessage + "; try again", Again: true}
	default:
		return nil, nil, toolspec.Answer{Reason: "the edited arguments are not valid: " + failure.SafeMessage}
	}
}
