package activities

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows"
)

// Review verifies and records a decision or, without one, says how the request
// stands. Who sends a signal proves nothing: only what is verified here counts.
func (a *Activities) Review(ctx context.Context, in workflows.ReviewIn) (workflows.ReviewOut, error) {
	started := time.Now()
	row := ReviewRow{
		InvocationID: in.InvocationID, TenantID: in.TenantID, ApprovalID: in.ApprovalID,
		Epoch: in.Epoch, Gate: in.Gate, Capacity: in.Capacity, Decision: in.Decision, Close: in.Close,
	}
	var edited, safe json.RawMessage
	if d := in.Decision; d != nil {
		row.KeyID = proof.KeyID(d.Proof)
		row.Judge = func(open OpenRequest) (Judgement, error) {
			who, err := a.identified(ctx, open, in.TenantID, *d)
			switch {
			case hook.IsTransient(err):
				a.log.WarnContext(ctx, "a decision is to be sent again: its ID token cannot be verified now", "approvalId", in.ApprovalID, "reason", hook.Reason(err))
				return Judgement{Answer: toolspec.Answer{Reason: notVerified, Again: true}}, nil
			case err != nil:
				return Judgement{}, err
			case who.refusal != "":
				return Judgement{Answer: toolspec.Answer{Reason: who.refusal}, Final: true}, nil
			}
			if who.voter.Roles, err = a.rolesOf(ctx, open, in.TenantID, d.Approver); err != nil {
				return Judgement{}, err
			}
			j := judge(open, who.voter, *d, remembering{in.Args, in.SessionID})
			j.KeyID = who.keyID
			if j.Counted && d.Decision == toolspec.Edit {
				edited, safe, j.Answer = a.edited(in.ToolID, d.EditedArgs)
			}
			return j, nil
		}
	}
	record, err := a.records.Review(ctx, row)
	if err != nil {
		return workflows.ReviewOut{}, err
	}
	if record.Superseded {
		return workflows.ReviewOut{Outcome: workflows.Superseded}, nil
	}
	if record.State == workflows.RequestEdited && record.Answer.Counted && edited == nil && in.Decision != nil {
		// The decision had counted before; its arguments are the same. Where this
		// worker cannot judge them, hydrate is to.
		if edited, safe, _ = a.edited(in.ToolID, in.Decision.EditedArgs); edited == nil {
			edited = in.Decision.EditedArgs
		}
	}
	return workflows.ReviewOut{
		Outcome: workflows.Done, Answer: record.Answer, State: record.State, PolicyDigest: record.PolicyDigest, Kills: record.Kills, Connection: record.Connection,
		RemainingMs: record.Remaining.Milliseconds(), Approver: record.Approver, EditedArgs: edited, SafeArgs: safe,
		DurationUs: time.Since(started).Microseconds(),
	}, nil
}

// rolesOf returns what an approver is at this moment, by the active policy and by
// relations: who has lost a role while the call waited decides no more.
func (a *Activities) rolesOf(ctx context.Context, open OpenRequest, tenantID, approver string) ([]string, error) {
	if !open.Rule.NeedsRoles() {
		return nil, nil
	}
	p, err := a.policies.Policy(ctx, open.PolicyDigest)
	if err != nil {
		return nil, err
	}
	held, err := a.records.Roles(ctx, tenantID, approver)
	if err != nil {
		return nil, err
	}
	roles := p.Roles(tenantID, approver)
	for _, r := range held {
		roles = append(roles, strings.TrimPrefix(r, authz.RolePrefix))
	}
	return roles, nil
}

// edited validates an approver's arguments; a fault makes the decision not
// count, and the request stays open.
func (a *Activities) edited(toolID string, raw json.RawMessage) (args, safe json.RawMessage, answer toolspec.Answer) {
	bound, ok := a.source.Get(toolID)
	if !ok {
		return nil, nil, toolspec.Answer{Reason: "this worker does not have the tool; try again"}
	}
	args, safe, failure := a.accepted(bound, raw)
	switch {
	case failure == nil:
		return args, safe, toolspec.Answer{Counted: true}
	case failure.Code == toolspec.CodeInternal:
		return nil, nil, toolspec.Answer{Reason: failure.SafeMessage + "; try again"}
	default:
		return nil, nil, toolspec.Answer{Reason: "the edited arguments are not valid: " + failure.SafeMessage}
	}
}
