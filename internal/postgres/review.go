package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// lookRow is the row of Look.
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

// decideRow is the row of Decide.
type decideRow struct {
	State        contract.RequestState
	Approver     string
	RemainingMs  int64
	PolicyDigest string
	// Counted is nil where another decision has counted since the request was looked at.
	Counted *bool
	Answer  *string
}

// Review looks at a request, and brings a decision to it if there is one. A look is one round trip, a decision that is new is two: the
// judge runs between them, while nothing is locked. That is sound because what it judges by never changes once a request is open but the
// votes, and whether the request is still open and has just these is for the second statement to find.
func (s *Store) Review(ctx context.Context, in approval.ReviewRow) (approval.ReviewRecord, error) {
	const op = "review"
	d, err := sealed(in.Decision)
	if err != nil {
		return approval.ReviewRecord{}, failure(op, err)
	}
	for {
		record, stale, err := s.review(ctx, op, in, d)
		if err != nil || !stale {
			return record, err
		}
	}
}

// review is one look, and stale where another decision came between it and this one.
func (s *Store) review(ctx context.Context, op string, in approval.ReviewRow, d seal) (record approval.ReviewRecord, stale bool, err error) {
	look, found, err := locked[lookRow](ctx, s, op, in.InvocationID, step{"Look", named{
		"invocation_id": in.InvocationID, "tenant_id": in.TenantID, "epoch": in.Epoch, "temporal_run_id": executing(ctx), "gate": in.Gate, "capacity": in.Capacity,
		"approval_id": text(in.ApprovalID), "decision_hash": d.hash, "key_id": text(in.KeyID),
		"depth": authz.MaxNesting, "refresh": in.Refresh, "max_keys": approval.MaxKeys,
	}})
	switch {
	case err != nil:
		return record, false, err
	case !found:
		return approval.ReviewRecord{Superseded: true}, false, nil
	case in.ApprovalID != "" && look.State == "":
		return record, false, &Error{Op: op, State: "the call has no such request"}
	}
	kills, err := killsOf(op, look.Kills)
	if err != nil {
		return record, false, err
	}
	connection, err := connectionOf(op, look.Connection)
	if err != nil {
		return record, false, err
	}
	record = approval.ReviewRecord{
		Kills: kills, Connection: connection, State: look.State, Approver: look.Approver, PolicyDigest: look.PolicyDigest, Remaining: remaining(look.RemainingMs),
	}
	if in.Refresh && look.State != "" {
		if err := look.refresh(&record); err != nil {
			return record, false, failure(op, err)
		}
	}
	request, keys := record.Request, record.Keys
	switch {
	case in.Decision == nil && in.Close:
		_, err := s.exec(ctx, op, step{"CloseRequest", named{
			"invocation_id": in.InvocationID, "tenant_id": in.TenantID, "epoch": in.Epoch, "temporal_run_id": executing(ctx), "approval_id": in.ApprovalID,
		}})
		return record, false, err
	case in.Decision == nil:
		return record, false, nil
	case in.ApprovalID == "":
		record.Answer.Reason = "no request is open"
		return record, false, nil
	case look.Recorded:
		record.Answer = toolspec.Answer{Counted: look.Counted, Reason: look.Answer}
		return record, false, nil
	}
	open, err := look.open()
	if err != nil {
		return record, false, failure(op, err)
	}
	becomes, judgement, err := judged(in, open)
	if err != nil {
		return record, false, err
	}
	if judgement.Again {
		record.Answer = judgement.Answer
		return record, false, nil
	}
	record, stale, err = s.decide(ctx, op, in, d, look.Votes, becomes, judgement)
	record.Kills, record.Connection, record.Request, record.Keys = kills, connection, request, keys
	return record, stale, err
}

// refresh adds what the request accepts.
func (r lookRow) refresh(record *approval.ReviewRecord) error {
	open, err := r.open()
	if err != nil {
		return err
	}
	record.Request = &open
	record.Keys, err = requestKeys(r.Keys)
	return err
}

// open is what a judge may know of the request.
func (r lookRow) open() (open approval.OpenRequest, err error) {
	open = approval.OpenRequest{
		RequestedBy: r.RequestedBy, EditedBy: r.EditedBy, OnBehalfOf: r.OnBehalfOf, Parked: r.Parked, Digest: r.Digest, PolicyDigest: r.PolicyDigest, Now: r.Now,
		Waited: time.Duration(r.WaitedMs) * time.Millisecond,
	}
	if open.Rule, err = decoded[policy.ApprovalRule](r.Rule); err != nil {
		return open, err
	}
	if open.Granted, err = decoded[hook.GrantedApproval](r.Granted); err != nil {
		return open, err
	}
	if r.Voters != nil {
		if open.Votes, err = decoded[[]policy.Vote](r.Voters); err != nil {
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

// judged returns what the request becomes with the decision if it still finds it open, and what to tell its sender.
func judged(in approval.ReviewRow, request approval.OpenRequest) (becomes contract.RequestState, j approval.Judgement, err error) {
	becomes, fits := contract.Becomes(in.Decision.Decision, request.Parked != "")
	switch {
	case !fits:
		j.Reason = contract.Unfit(request.Parked != "")
	case in.Decision.ApprovalID != in.ApprovalID:
		j.Reason = "the decision is for another request"
	default:
		j, err = in.Judge(request)
	}
	return becomes, j, err
}

func (s *Store) decide(
	ctx context.Context, op string, in approval.ReviewRow, d seal, votes int, becomes contract.RequestState, j approval.Judgement,
) (record approval.ReviewRecord, stale bool, err error) {
	values := named{
		"invocation_id": in.InvocationID, "tenant_id": in.TenantID, "epoch": in.Epoch, "temporal_run_id": executing(ctx), "approval_id": in.ApprovalID,
		"decision_hash": d.hash, "decision": text(in.Decision.Decision), "approver": text(in.Decision.Approver),
		"reason": text(in.Decision.Reason), "args_digest": d.args, "remember": in.Decision.Remember, "signed": j.Signed, "key_id": text(j.KeyID),
		"counts": j.Counted, "final": j.Final, "seat": j.Seat, "votes": votes, "becomes": string(becomes), "answer": text(j.Reason),
	}
	if err := addGrant(values, j.Grant); err != nil {
		return record, false, failure(op, err)
	}
	row, found, err := locked[decideRow](ctx, s, op, in.InvocationID, step{"Decide", values})
	switch {
	case err != nil:
		return record, false, err
	case !found:
		return approval.ReviewRecord{Superseded: true}, false, nil
	case row.Counted == nil || row.Answer == nil:
		return record, true, nil
	}
	return approval.ReviewRecord{
		Answer: toolspec.Answer{Counted: *row.Counted, Reason: *row.Answer},
		State:  row.State, Approver: row.Approver, PolicyDigest: row.PolicyDigest, Remaining: remaining(row.RemainingMs),
	}, false, nil
}
