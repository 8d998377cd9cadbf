package postgres

import (
	"context"
	"encoding/json"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows"
)

// lookRow is the row of Look.
type lookRow struct {
	State        workflows.RequestState
	Approver     string
	RemainingMs  int64
	PolicyDigest string
	Kills        json.RawMessage
	Rule         json.RawMessage
	RequestedBy  string
	EditedBy     string
	Parked       string
	Recorded     bool
	Counted      bool
	Answer       string
}

// decideRow is the row of Decide.
type decideRow struct {
	State        workflows.RequestState
	Approver     string
	RemainingMs  int64
	PolicyDigest string
	Counted      bool
	Answer       string
}

// Review looks at a request, and brings a decision to it if there is one. A look is one round trip, a decision that is new is two: the
// judge runs between them, while nothing is locked. That is sound because what it judges by never changes once a request is open, and
// whether the request is still open is for the second statement to find.
func (s *Store) Review(ctx context.Context, in activities.ReviewRow) (activities.ReviewRecord, error) {
	const op = "review"
	d, err := sealed(in.Decision)
	if err != nil {
		return activities.ReviewRecord{}, failure(op, err)
	}
	look, found, err := locked[lookRow](ctx, s, op, in.InvocationID, step{"Look", named{
		"invocation_id": in.InvocationID, "tenant_id": in.TenantID, "epoch": in.Epoch, "gate": in.Gate, "capacity": in.Capacity,
		"approval_id": text(in.ApprovalID), "decision_hash": d.hash,
	}})
	switch {
	case err != nil:
		return activities.ReviewRecord{}, err
	case !found:
		return activities.ReviewRecord{Superseded: true}, nil
	case in.ApprovalID != "" && look.State == "":
		return activities.ReviewRecord{}, &Error{Op: op, State: "the call has no such request"}
	}
	kills, err := killsOf(op, look.Kills)
	if err != nil {
		return activities.ReviewRecord{}, err
	}
	record := activities.ReviewRecord{
		Kills: kills, State: look.State, Approver: look.Approver, PolicyDigest: look.PolicyDigest, Remaining: remaining(look.RemainingMs),
	}
	switch {
	case in.Decision == nil && in.Close:
		_, err := s.exec(ctx, op, step{"CloseRequest", named{
			"invocation_id": in.InvocationID, "tenant_id": in.TenantID, "epoch": in.Epoch, "approval_id": in.ApprovalID,
		}})
		return record, err
	case in.Decision == nil:
		return record, nil
	case in.ApprovalID == "":
		record.Answer.Reason = "no request is open"
		return record, nil
	case look.Recorded:
		record.Answer = toolspec.Answer{Counted: look.Counted, Reason: look.Answer}
		return record, nil
	}
	rule, err := decoded[policy.ApprovalRule](look.Rule)
	if err != nil {
		return activities.ReviewRecord{}, failure(op, err)
	}
	becomes, answer := judged(in, activities.OpenRequest{
		Rule: rule, RequestedBy: look.RequestedBy, EditedBy: look.EditedBy, Parked: look.Parked,
	})
	decided, err := s.decide(ctx, op, in, d, becomes, answer)
	decided.Kills = kills
	return decided, err
}

// judged returns what the request becomes if the decision still finds it open, empty where the decision does not count, and what to tell
// its sender.
func judged(in activities.ReviewRow, request activities.OpenRequest) (becomes workflows.RequestState, answer string) {
	becomes, fits := workflows.Becomes(in.Decision.Decision, request.Parked != "")
	switch {
	case !fits && request.Parked != "":
		return "", "the call's outcome is unknown; the request waits for retry, settle_ok or settle_failed"
	case !fits:
		return "", "the request waits for approve, deny, edit or withdraw"
	}
	if in.Decision.ApprovalID != in.ApprovalID {
		return "", "the decision is for another request"
	}
	judgement := in.Judge(request)
	if !judgement.Counted {
		becomes = ""
	}
	return becomes, judgement.Reason
}

func (s *Store) decide(ctx context.Context, op string, in activities.ReviewRow, d seal, becomes workflows.RequestState, answer string) (activities.ReviewRecord, error) {
	row, found, err := locked[decideRow](ctx, s, op, in.InvocationID, step{"Decide", named{
		"invocation_id": in.InvocationID, "tenant_id": in.TenantID, "epoch": in.Epoch, "approval_id": in.ApprovalID,
		"decision_hash": d.hash, "decision": text(in.Decision.Decision), "approver": text(in.Decision.Approver),
		"reason": text(in.Decision.Reason), "args_digest": d.args, "remember": in.Decision.Remember, "signed": in.Decision.Proof != "",
		"becomes": string(becomes), "answer": text(answer),
	}})
	switch {
	case err != nil:
		return activities.ReviewRecord{}, err
	case !found:
		return activities.ReviewRecord{Superseded: true}, nil
	}
	return activities.ReviewRecord{
		Answer: toolspec.Answer{Counted: row.Counted, Reason: row.Answer},
		State:  row.State, Approver: row.Approver, PolicyDigest: row.PolicyDigest, Remaining: remaining(row.RemainingMs),
	}, nil
}
