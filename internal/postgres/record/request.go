package record

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// requestRow is a row of the statement Request.
type requestRow struct {
	Number      int
	State       contract.RequestState
	Approver    string
	Granted     json.RawMessage
	Rule        json.RawMessage
	Preview     json.RawMessage
	Keys        json.RawMessage
	ExpiresAt   time.Time
	CreatedAt   time.Time
	RemainingMs int64
	Notified    int64
}

// Request opens an approval request, or returns the existing request for the same digest. A
// retry of the same call returns the request that the first try opened.
func (s *Store) Request(ctx context.Context, in approval.RequestRow) (approval.RequestRecord, error) {
	const op = "request"
	rule, err := db.Encoded(in.Rule)
	if err != nil {
		return approval.RequestRecord{}, db.Failure(op, err)
	}
	granted, err := db.Encoded(in.Granted)
	if err != nil {
		return approval.RequestRecord{}, db.Failure(op, err)
	}
	var preview *string
	if in.View.Preview != nil {
		if preview, err = db.Encoded(in.View.Preview); err != nil {
			return approval.RequestRecord{}, db.Failure(op, err)
		}
	}
	v, edits := in.View, in.Edits
	hydrations := db.Values{}
	if err := addHydrations(hydrations, in.Hydrations); err != nil {
		return approval.RequestRecord{}, db.Failure(op, err)
	}
	if edits == nil {
		edits = []int{}
	}
	// A call that waits for a person holds no capacity.
	var steps []db.Step
	switch {
	case v.Parked != "": // the attempt has used the tokens of its quotas, so the call gives back its slots only
		steps = release(in.InvocationID, in.Epoch, executing(ctx), 1, in.Capacity, 0)
	case in.GivesBack:
		steps = release(in.InvocationID, in.Epoch, executing(ctx), 0, in.Capacity, 0)
	}
	row, found, err := batchLocked[requestRow](ctx, s, op, in.InvocationID, append(steps,
		db.Query("CloseOtherRequests", db.Values{
			"invocation_id": in.InvocationID, "tenant_id": in.TenantID, "epoch": in.Epoch, "temporal_run_id": executing(ctx), "digest": v.Digest,
			"edited_by": db.Text(in.EditedBy), "edits": edits, "last": in.Last,
		}),
		db.Query("Request", hydrations.With(db.Values{
			"invocation_id": in.InvocationID, "tenant_id": in.TenantID, "epoch": in.Epoch, "temporal_run_id": executing(ctx), "last": in.Last,
			"digest": v.Digest, "tool_id": v.ToolID, "effect": string(v.Effect), "risk": string(v.Risk), "safe_args": db.Document(v.Args),
			"message": db.Text(v.Message), "requested_by": db.Text(v.RequestedBy), "edited_by": db.Text(in.EditedBy), "approvers_text": db.Text(v.Approvers),
			"rule": rule, "granted": granted, "policy_rule": db.Text(in.PolicyRule), "policy_digest": db.Text(in.PolicyID),
			"parked": db.Text(v.Parked), "on_behalf_of": db.Text(v.OnBehalfOf), "remembered": in.Remembered, "preview": preview, "expire_after": in.ExpireAfter, "edits": edits,
			"remind_after":      in.Rule.RemindAfter(),
			"max_keys":          approval.MaxKeys,
			"escalate_after_ms": db.Column(in.Rule.Escalate, func(e policy.Escalation) int64 { return e.AfterMs }),
		})))...)
	if err != nil {
		return approval.RequestRecord{}, err
	}
	if !found {
		return approval.RequestRecord{Superseded: true}, nil
	}
	return row.record(op, in.InvocationID)
}

func (r requestRow) record(op, invocationID string) (approval.RequestRecord, error) {
	granted, err := db.Decoded[hook.GrantedApproval](r.Granted)
	if err != nil {
		return approval.RequestRecord{}, db.Failure(op, err)
	}
	rule, err := db.Decoded[policy.ApprovalRule](r.Rule)
	if err != nil {
		return approval.RequestRecord{}, db.Failure(op, err)
	}
	preview, err := db.Optional[toolspec.PreviewView](r.Preview)
	if err != nil {
		return approval.RequestRecord{}, db.Failure(op, err)
	}
	keys, err := requestKeys(r.Keys)
	if err != nil {
		return approval.RequestRecord{}, db.Failure(op, err)
	}
	granted.ApprovalID, granted.Approver = toolspec.ApprovalID(invocationID, r.Number), r.Approver
	return approval.RequestRecord{
		Number: r.Number, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, Remaining: remaining(r.RemainingMs),
		State: r.State, Approver: r.Approver, Granted: granted, Preview: preview, Rule: rule, Keys: keys,
	}, nil
}

// requestKeys decodes up to approval.MaxKeys valid keys of a tenant. More says that the tenant has other keys. It returns no keys for a nil raw.
func requestKeys(raw json.RawMessage) (keys approval.RequestKeys, err error) {
	if raw == nil {
		return keys, nil
	}
	rows, err := db.Decoded[[]struct {
		Public   []byte `json:"public"`
		Identity string `json:"identity"`
	}](raw)
	if err != nil {
		return keys, err
	}
	keys.More = len(rows) > approval.MaxKeys
	for _, row := range rows[:min(len(rows), approval.MaxKeys)] {
		key, err := proof.KeyOf(row.Public)
		if err != nil {
			return keys, err
		}
		keys.Keys = append(keys.Keys, proof.Registered{Key: key, Identity: row.Identity})
	}
	return keys, nil
}

func remaining(ms int64) time.Duration { return time.Duration(max(ms, 0)) * time.Millisecond }
