package approval

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// ReviewRecord is the state of the request after the review. Superseded says that a newer run owns the
// call; then all other fields are empty.
type ReviewRecord struct {
	Superseded bool
	Answer     toolspec.Answer
	State      contract.RequestState
	// PolicyDigest is the digest of the active policy, read by the same statement.
	PolicyDigest string
	// Kills are the kill switches of the call, read no later than PolicyDigest.
	Kills []hook.Kill
	// Connection is the connection of the call, read no later than PolicyDigest.
	Connection *hook.Connection
	Remaining  time.Duration
	Approver   string
	// Request is the request before the decision. It is nil unless LookRow.Refresh asked for it.
	Request *OpenRequest
	// Keys are the keys of the tenant. They are set only if LookRow.Refresh asked for them.
	Keys RequestKeys
}

// ReviewWith reads a request. If in has a decision that is new, judge says whether the decision counts under
// the request's own rule, and ReviewWith writes the decision with this judgement. Without a new decision,
// ReviewWith needs one round trip to the database, and a second round trip to close the request. With a new
// decision it needs two.
//
// ReviewWith locks nothing while judge runs. While a request is open, only its votes can change.
// Requests.Decide compares the state of the request and the number of votes: if another decision has counted in
// the meantime, ReviewWith starts again. judge uses the keys, roles and policy that are valid when it reads
// them.
func ReviewWith(
	ctx context.Context, requests Requests, in LookRow, judge func(OpenRequest) (Judgement, error),
) (ReviewRecord, error) {
	for {
		look, err := requests.Look(ctx, in)
		if err != nil || look.Superseded {
			return ReviewRecord{Superseded: look.Superseded}, err
		}
		record := look.review(in.Refresh)
		switch {
		case in.Decision == nil:
			return record, nil
		case in.ApprovalID == "":
			record.Answer.Reason = "no request is open"
			return record, nil
		case look.Recorded != nil:
			record.Answer = *look.Recorded
			return record, nil
		}
		becomes, judgement, err := judgeDecision(in, *look.Request, judge)
		if err != nil {
			return ReviewRecord{}, err
		}
		if judgement.Again {
			record.Answer = judgement.Answer
			return record, nil
		}
		written, err := requests.Decide(ctx, DecideRow{
			InvocationID: in.InvocationID, TenantID: in.TenantID, ApprovalID: in.ApprovalID, Epoch: in.Epoch,
			Decision: *in.Decision, Judgement: judgement, Becomes: becomes, Votes: look.Votes,
		})
		switch {
		case err != nil || written.Superseded:
			return ReviewRecord{Superseded: written.Superseded}, err
		case written.Stale:
			continue
		}
		record.Answer, record.State, record.Approver = written.Answer, written.State, written.Approver
		record.PolicyDigest, record.Remaining = written.PolicyDigest, written.Remaining
		return record, nil
	}
}

// review returns the record as the result of a review, without an Answer. Request and Keys are set only if
// refresh is set.
func (l LookRecord) review(refresh bool) ReviewRecord {
	r := ReviewRecord{
		State: l.State, PolicyDigest: l.PolicyDigest, Kills: l.Kills, Connection: l.Connection, Remaining: l.Remaining, Approver: l.Approver,
	}
	if refresh {
		r.Request, r.Keys = l.Request, l.Keys
	}
	return r
}

// judgeDecision returns the judgement of the decision, and the state of the request after the decision if it
// counts and is final.
func judgeDecision(
	in LookRow, request OpenRequest, judge func(OpenRequest) (Judgement, error),
) (becomes contract.RequestState, j Judgement, err error) {
	becomes, fits := contract.Becomes(in.Decision.Decision, request.Parked != "")
	switch {
	case !fits:
		j.Reason = contract.Unfit(request.Parked != "")
	case in.Decision.ApprovalID != in.ApprovalID:
		j.Reason = "the decision is for another request"
	default:
		j, err = judge(request)
	}
	return becomes, j, err
}
