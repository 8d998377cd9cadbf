package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows"
)

// requestRow is the row of Request.
type requestRow struct {
	Number      int
	State       workflows.RequestState
	Approver    string
	Granted     json.RawMessage
	ExpiresAt   time.Time
	CreatedAt   time.Time
	RemainingMs int64
	Notified    int64
}

// Request opens an approval request, or finds the one that stands for the same digest. A retry of the same call finds what the first
// one opened.
func (s *Store) Request(ctx context.Context, in activities.RequestRow) (activities.RequestRecord, error) {
	const op = "request"
	rule, err := encoded(in.Rule)
	if err != nil {
		return activities.RequestRecord{}, failure(op, err)
	}
	granted, err := encoded(in.Granted)
	if err != nil {
		return activities.RequestRecord{}, failure(op, err)
	}
	v, edits := in.View, in.Edits
	hydrations := named{}
	if err := addHydrations(hydrations, in.Hydrations); err != nil {
		return activities.RequestRecord{}, failure(op, err)
	}
	if edits == nil {
		edits = []int{}
	}
	var steps []step
	if v.Parked != "" { // whoever waits for a person holds nothing; its token is spent
		steps = release(in.InvocationID, in.Epoch, 1, 0)
	}
	row, found, err := locked[requestRow](ctx, s, op, in.InvocationID, append(steps,
		step{"CloseOtherRequests", named{
			"invocation_id": in.InvocationID, "tenant_id": in.TenantID, "epoch": in.Epoch, "digest": v.Digest, "edited_by": text(in.EditedBy),
			"edits": edits,
		}},
		step{"Request", hydrations.with(named{
			"invocation_id": in.InvocationID, "tenant_id": in.TenantID, "epoch": in.Epoch, "last": in.Last,
			"digest": v.Digest, "tool_id": v.ToolID, "effect": string(v.Effect), "risk": string(v.Risk), "safe_args": document(v.Args),
			"message": text(v.Message), "requested_by": text(v.RequestedBy), "edited_by": text(in.EditedBy), "approvers_text": text(v.Approvers),
			"rule": rule, "granted": granted, "policy_rule": text(in.PolicyRule), "policy_digest": text(in.PolicyID),
			"parked": text(v.Parked), "on_behalf_of": text(in.OnBehalfOf), "remembered": in.Remembered, "expire_after": in.ExpireAfter, "edits": edits,
			"remind_after":      in.Rule.RemindAfter(),
			"escalate_after_ms": column(in.Rule.Escalate, func(e policy.Escalation) int64 { return e.AfterMs }),
		})})...)
	if err != nil {
		return activities.RequestRecord{}, err
	}
	if !found {
		return activities.RequestRecord{Superseded: true}, nil
	}
	return row.record(op, in.InvocationID)
}

func (r requestRow) record(op, invocationID string) (activities.RequestRecord, error) {
	granted, err := decoded[hook.GrantedApproval](r.Granted)
	if err != nil {
		return activities.RequestRecord{}, failure(op, err)
	}
	granted.ApprovalID, granted.Approver = toolspec.ApprovalID(invocationID, r.Number), r.Approver
	return activities.RequestRecord{
		Number: r.Number, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, Remaining: remaining(r.RemainingMs),
		State: r.State, Approver: r.Approver, Granted: granted,
	}, nil
}

func remaining(ms int64) time.Duration { return time.Duration(max(ms, 0)) * time.Millisecond }
