package record

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// lookRow is a row of the statement Look.
type lookRow struct {
	State        contract.RequestState
	Approver     string
	RemainingMs  int64
	PolicyDigest string
	Kills        json.RawMessage
	Connection   json.RawMessage
	Rule         json.RawMessage
	Granted      json.RawMessage
	RequestedBy  string
	EditedBy     string
	Parked       string
	OnBehalfOf   string
	Digest       string
	Votes        int
	Now          time.Time
	WaitedMs     int64
	Voters       json.RawMessage
	PublicKey    []byte
	KeyIdentity  string
	KeyRevoked   bool
	Recorded     bool
	Counted      bool
	Answer       string
	Keys         json.RawMessage
}

// decideRow is a row of the statement Decide.
type decideRow struct {
	State        contract.RequestState
	Approver     string
	RemainingMs  int64
	PolicyDigest string
	// Counted is nil if another decision has counted since Look read the request.
	Counted *bool
	Answer  *string
}

// Look reads a request in one round trip and expires it if it is overdue. If in asks to close
// the request, Look needs a second round trip.
func (s *Store) Look(ctx context.Context, in approval.LookRow) (record approval.LookRecord, err error) {
	const op = "review"
	digests, err := digestDecision(in.Decision)
	if err != nil {
		return record, db.Failure(op, err)
	}
	look, found, err := batchLocked[lookRow](ctx, s, op, in.InvocationID, db.Query("Look", db.Values{
		"invocation_id": in.InvocationID, "tenant_id": in.TenantID, "epoch": in.Epoch, "temporal_run_id": executing(ctx), "gate": in.Gate, "capacity": in.Capacity,
		"approval_id": db.Text(in.ApprovalID), "decision_hash": digests.whole, "key_id": db.Text(in.KeyID),
		"depth": authz.MaxNesting, "refresh": in.Refresh, "max_keys": approval.MaxKeys,
	}))
	switch {
	case err != nil:
		return record, err
	case !found:
		return approval.LookRecord{Superseded: true}, nil
	case in.ApprovalID != "" && look.State == "":
		// The record was restored from a backup that is older than the request.
		decided := in.Decision != nil
		in.Refresh, in.Decision = false, nil
		record, err = look.record(op, in)
		record.State = contract.RequestLost
		if decided {
			record.Recorded = &toolspec.Answer{Reason: lostRequest}
		}
		return record, err
	}
	if record, err = look.record(op, in); err != nil || in.Decision != nil || !in.Close {
		return record, err
	}
	_, err = s.db.Exec(ctx, op, db.Query("CloseRequest", db.Values{
		"invocation_id": in.InvocationID, "tenant_id": in.TenantID, "epoch": in.Epoch, "temporal_run_id": executing(ctx), "approval_id": in.ApprovalID,
	}))
	return record, err
}

// lostRequest is the answer to a decision on a request that the record has lost.
const lostRequest = "the record was restored and does not have this request; decide on the next one of the call"

// record returns the row as a LookRecord. It decodes the request only if in needs it.
func (r lookRow) record(op string, in approval.LookRow) (record approval.LookRecord, err error) {
	record = approval.LookRecord{
		State: r.State, Approver: r.Approver, PolicyDigest: r.PolicyDigest, Remaining: remaining(r.RemainingMs), Votes: r.Votes,
	}
	if record.Kills, err = killsOf(op, r.Kills); err != nil {
		return record, err
	}
	if record.Connection, err = connectionOf(op, r.Connection); err != nil {
		return record, err
	}
	if r.Recorded {
		record.Recorded = &toolspec.Answer{Counted: r.Counted, Reason: r.Answer}
	}
	if r.State != "" && (in.Refresh || in.Decision != nil && !r.Recorded) {
		open, err := r.open()
		if err != nil {
			return record, db.Failure(op, err)
		}
		record.Request = &open
	}
	if r.State != "" && in.Refresh {
		record.Keys, err = requestKeys(r.Keys)
	}
	return record, db.Failure(op, err)
}

// open returns the parts of the request by which a decision is judged: its rule, its votes and the key of the decision.
func (r lookRow) open() (open approval.OpenRequest, err error) {
	open = approval.OpenRequest{
		RequestedBy: r.RequestedBy, EditedBy: r.EditedBy, OnBehalfOf: r.OnBehalfOf, Parked: r.Parked, Digest: r.Digest, PolicyDigest: r.PolicyDigest, Now: r.Now,
		Waited: time.Duration(r.WaitedMs) * time.Millisecond,
	}
	if open.Rule, err = db.Decoded[policy.ApprovalRule](r.Rule); err != nil {
		return open, err
	}
	if open.Granted, err = db.Decoded[hook.GrantedApproval](r.Granted); err != nil {
		return open, err
	}
	if r.Voters != nil {
		if open.Votes, err = db.Decoded[[]policy.Vote](r.Voters); err != nil {
			return open, err
		}
	}
	if r.PublicKey != nil {
		key, err := proof.KeyOf(r.PublicKey)
		if err != nil {
			return open, err
		}
		open.Key = &proof.Registered{Key: key, Identity: r.KeyIdentity, Revoked: r.KeyRevoked}
	}
	return open, nil
}

// Decide writes a decision and its judgement in one round trip. If another decision has counted
// since Look, Decide writes nothing and returns Stale.
func (s *Store) Decide(ctx context.Context, in approval.DecideRow) (record approval.DecideRecord, err error) {
	const op = "review"
	digests, err := digestDecision(&in.Decision)
	if err != nil {
		return record, db.Failure(op, err)
	}
	j := in.Judgement
	values := db.Values{
		"invocation_id": in.InvocationID, "tenant_id": in.TenantID, "epoch": in.Epoch, "temporal_run_id": executing(ctx), "approval_id": in.ApprovalID,
		"decision_hash": digests.whole, "decision": db.Text(in.Decision.Decision), "approver": db.Text(in.Decision.Approver),
		"reason": db.Text(in.Decision.Reason), "args_digest": digests.args, "remember": in.Decision.Remember, "signed": j.Signed, "key_id": db.Text(j.KeyID),
		"counts": j.Counted, "final": j.Final, "entry": j.Entry, "hook_entries": j.HookEntries, "votes": in.Votes, "becomes": string(in.Becomes), "answer": db.Text(j.Reason),
	}
	if err := addGrant(values, j.Grant); err != nil {
		return record, db.Failure(op, err)
	}
	row, found, err := batchLocked[decideRow](ctx, s, op, in.InvocationID, db.Query("Decide", values))
	switch {
	case err != nil:
		return record, err
	case !found:
		return approval.DecideRecord{Superseded: true}, nil
	case row.Counted == nil || row.Answer == nil:
		return approval.DecideRecord{Stale: true}, nil
	}
	return approval.DecideRecord{
		Answer: toolspec.Answer{Counted: *row.Counted, Reason: *row.Answer},
		State:  row.State, Approver: row.Approver, PolicyDigest: row.PolicyDigest, Remaining: remaining(row.RemainingMs),
	}, nil
}
