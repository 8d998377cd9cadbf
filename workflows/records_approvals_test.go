package workflows_test

import (
	"context"
	"slices"
	"time"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

type request struct {
	votes    []policy.Vote
	row      approval.RequestRow
	state    contract.RequestState
	approver string
	expires  time.Time
	// lost says that the record was restored from a backup without the request.
	lost bool
}

func (r *records) Request(_ context.Context, in approval.RequestRow) (approval.RequestRecord, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asks++; r.onRequest != nil && r.onRequest(r.asks) {
		return approval.RequestRecord{Superseded: true}, nil
	}
	number := len(r.requests) + 1
	r.row.Rounds.Request = number
	req := &request{row: in, state: contract.RequestOpen, expires: r.now().Add(in.ExpireAfter)}
	r.requests = append(r.requests, req)
	if r.granted != "" {
		req.state, req.approver, in.Granted.Approver = contract.RequestApproved, r.granted, r.granted
		return approval.RequestRecord{Number: number, State: req.state, Approver: r.granted, ExpiresAt: req.expires, Granted: in.Granted, Rule: in.Rule, Keys: r.keys()}, nil
	}
	return approval.RequestRecord{Number: number, ExpiresAt: req.expires, Remaining: in.ExpireAfter, Granted: in.Granted, Rule: in.Rule, Keys: r.keys()}, nil
}

func (r *records) keys() approval.RequestKeys {
	return approval.RequestKeys{Keys: slices.Clone(r.registered)}
}

func (r *records) key(id string) *proof.Registered {
	i := slices.IndexFunc(r.registered, func(k proof.Registered) bool { return k.Key.ID() == id })
	if i < 0 {
		return nil
	}
	return &r.registered[i]
}

func (r *records) Roles(context.Context, string, string) ([]string, error) { return nil, nil }

func (r *records) Grants(context.Context, approval.GrantQuery) ([]approval.Grant, error) {
	return nil, nil
}

func (r *records) Look(_ context.Context, in approval.LookRow) (approval.LookRecord, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reviews++
	if in.ApprovalID == "" {
		if r.states++; r.onState != nil && r.onState(r.states) {
			return approval.LookRecord{Superseded: true}, nil
		}
		return approval.LookRecord{State: contract.RequestOpen, PolicyDigest: r.active, Connection: r.connection()}, nil
	}
	if r.looks++; r.onLook != nil && r.onLook(r.looks) {
		return approval.LookRecord{Superseded: true}, nil
	}
	req := r.requested(in.ApprovalID)
	if req.lost {
		return approval.LookRecord{State: contract.RequestLost, PolicyDigest: r.active}, nil
	}
	open := approval.OpenRequest{
		Rule: req.row.Rule, RequestedBy: req.row.View.RequestedBy, EditedBy: req.row.EditedBy, Parked: req.row.View.Parked,
		Digest: req.row.View.Digest, Votes: req.votes, Key: r.key(in.KeyID), Now: r.now(), PolicyDigest: r.active,
	}
	out := approval.LookRecord{PolicyDigest: r.active, Connection: r.connection(), Request: &open, Votes: len(req.votes)}
	if in.Refresh {
		out.Keys = r.keys()
	}
	if req.state == contract.RequestOpen && !r.now().Before(req.expires) {
		req.state = contract.RequestExpired
	}
	r.row.Rounds.Gate = max(r.row.Rounds.Gate, in.Gate)
	if in.Decision != nil && in.Decision.ApprovalID != in.ApprovalID {
		r.events = append(r.events, "a decision on another request")
	}
	if in.Close && req.state == contract.RequestOpen {
		req.state = contract.RequestClosed
	}
	if req.state != contract.RequestOpen {
		out.Recorded = &toolspec.Answer{}
	}
	out.State, out.Approver, out.Remaining = req.state, req.approver, req.expires.Sub(r.now())
	return out, nil
}

func (r *records) Decide(_ context.Context, in approval.DecideRow) (approval.DecideRecord, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	req := r.requested(in.ApprovalID)
	out := approval.DecideRecord{PolicyDigest: r.active, Answer: in.Judgement.Answer}
	switch counted := in.Judgement.Counted; {
	case req.state != contract.RequestOpen:
		out.Answer = toolspec.Answer{Reason: "the request is already " + string(req.state)}
	case counted && len(req.votes) != in.Votes:
		return approval.DecideRecord{Stale: true}, nil
	case counted && in.Judgement.Final:
		req.approver, req.state = in.Decision.Approver, in.Becomes
	case counted:
		req.votes = append(req.votes, policy.Vote{Entry: in.Judgement.Entry, HookEntries: in.Judgement.HookEntries, Approver: in.Decision.Approver})
	}
	out.State, out.Approver, out.Remaining = req.state, req.approver, req.expires.Sub(r.now())
	return out, nil
}

// requested returns the request with the approval id.
func (r *records) requested(approvalID string) *request {
	_, number, _ := toolspec.SplitApprovalID(approvalID)
	return r.requests[number-1]
}
