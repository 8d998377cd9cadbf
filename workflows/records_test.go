package workflows_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows"
)

// records keeps one call in memory, for tests that skip time: real records
// compare with the database's clock. internal/postgres has the suite of the
// real ones.
type records struct {
	now func() time.Time

	mu       sync.Mutex
	row      *activities.Record
	requests []*request
	// granted is who approved every request before this run asked, if anybody did.
	granted string
	claims  map[int]bool
	// repeatable are the claims of tools that may be repeated.
	repeatable map[int]bool
	tombs      map[int]bool
	settled    []workflows.SettleIn
	refused    []activities.RefusedInput
	outputs    int
	active     string
	unsaved    error
	results    *results
	rows       []activities.ClaimRow
	events     []string // what must not happen

	// A test sets these to have other runs or a failing store in the way. What
	// they return goes before the store's own answer.
	plan                                   func(*hook.Plan)
	onAdmit                                func(n int, row *activities.Record)
	onClaim                                func(n int) (workflows.Outcome, error)
	onSettle                               func(n int) workflows.Outcome
	onRequest                              func(n int) bool
	onCheck                                func(n int) workflows.Outcome
	admits, claimed, settles, asks, checks int
}

// dies is the answer of a claim after which nobody hears of the attempt again.
const dies workflows.Outcome = "dies"

type request struct {
	votes    []policy.Vote
	row      activities.RequestRow
	state    workflows.RequestState
	approver string
	expires  time.Time
}

func newRecords(active string, now func() time.Time) *records {
	return &records{active: active, claims: make(map[int]bool), repeatable: make(map[int]bool), tombs: make(map[int]bool), now: now}
}

func (r *records) Admit(_ context.Context, in activities.AdmitRow) (activities.Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.row == nil:
		r.row = &activities.Record{Digest: in.InputDigest, Epoch: 1, Plan: in.Plan}
		if r.plan != nil {
			r.plan(&r.row.Plan)
		}
	case r.row.Result == nil && r.row.Digest == in.InputDigest:
		r.row.Epoch++
	}
	if r.admits++; r.onAdmit != nil {
		r.onAdmit(r.admits, r.row)
	}
	out := *r.row
	out.PolicyDigest = r.active
	if c := in.Invocation.Context; c.ConnectionID != "" { // everybody may use every connection
		out.Connection = &hook.Connection{Generation: 1, Status: "active", Grants: []hook.ConnectionGrant{{Grantee: c.ActorID}}}
	}
	return out, nil
}

func (r *records) Refuse(_ context.Context, in activities.RefusedInput) error {
	r.refused = append(r.refused, in)
	return nil
}

func (r *records) Claim(_ context.Context, in activities.ClaimRow) (workflows.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, in)
	if r.claimed++; r.onClaim != nil {
		outcome, err := r.onClaim(r.claimed)
		if outcome == dies {
			panic("the worker is gone")
		}
		if outcome != "" || err != nil {
			return outcome, err
		}
	}
	switch {
	case in.Epoch != r.row.Epoch || r.row.Result != nil:
		return workflows.Superseded, nil
	case r.tombs[in.Dispatch]:
		return workflows.Tombstoned, nil
	case r.claims[in.Dispatch]:
		return workflows.Claimed, nil
	}
	for dispatch := range r.claims {
		if !(in.Repeatable && r.repeatable[dispatch]) && !slices.Contains(in.Answered, dispatch) {
			return workflows.Claimed, nil
		}
	}
	r.claims[in.Dispatch], r.repeatable[in.Dispatch] = true, in.Repeatable
	r.row.Rounds.Dispatch = max(r.row.Rounds.Dispatch, in.Dispatch)
	return workflows.Done, nil
}

func (r *records) Check(_ context.Context, in workflows.CheckIn) (workflows.CheckOut, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.checks++; r.onCheck != nil {
		if outcome := r.onCheck(r.checks); outcome == dies {
			return workflows.CheckOut{}, errLost
		} else if outcome != "" {
			return workflows.CheckOut{Outcome: outcome}, nil
		}
	}
	switch {
	case in.Epoch != r.row.Epoch || r.row.Result != nil:
		return workflows.CheckOut{Outcome: workflows.Superseded}, nil
	case r.claims[in.Dispatch]:
		return workflows.CheckOut{Outcome: workflows.Lost}, nil
	}
	r.tombs[in.Dispatch] = true
	r.row.Rounds.Dispatch = max(r.row.Rounds.Dispatch, in.Dispatch)
	r.row.Epoch++
	return workflows.CheckOut{Outcome: workflows.Free, Epoch: r.row.Epoch}, nil
}

func (r *records) Settle(_ context.Context, in workflows.SettleIn) (workflows.SettleOut, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.settles++; r.onSettle != nil {
		if outcome := r.onSettle(r.settles); outcome != "" {
			return workflows.SettleOut{Outcome: outcome}, nil
		}
	}
	if in.Epoch != r.row.Epoch {
		return workflows.SettleOut{Outcome: workflows.Superseded}, nil
	}
	if r.row.Result != nil {
		return workflows.SettleOut{Outcome: workflows.AlreadySettled, Result: r.row.Result}, nil
	}
	r.settled = append(r.settled, in)
	if in.Kept != nil {
		r.results.keep(in.InvocationID, *in.Kept)
	}
	r.row.Result = &in.Result
	return workflows.SettleOut{Outcome: workflows.Done}, nil
}

func (r *records) Request(_ context.Context, in activities.RequestRow) (activities.RequestRecord, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asks++; r.onRequest != nil && r.onRequest(r.asks) {
		return activities.RequestRecord{Superseded: true}, nil
	}
	number := len(r.requests) + 1
	r.row.Rounds.Request = number
	req := &request{row: in, state: workflows.RequestOpen, expires: r.now().Add(in.ExpireAfter)}
	r.requests = append(r.requests, req)
	if r.granted != "" {
		req.state, req.approver, in.Granted.Approver = workflows.RequestApproved, r.granted, r.granted
		return activities.RequestRecord{Number: number, State: req.state, Approver: r.granted, ExpiresAt: req.expires, Granted: in.Granted}, nil
	}
	return activities.RequestRecord{Number: number, ExpiresAt: req.expires, Remaining: in.ExpireAfter, Granted: in.Granted}, nil
}

func (r *records) Roles(context.Context, string, string) ([]string, error) { return nil, nil }

func (r *records) Grants(context.Context, activities.GrantQuery) ([]activities.Grant, error) {
	return nil, nil
}

func (r *records) Review(_ context.Context, in activities.ReviewRow) (activities.ReviewRecord, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if in.ApprovalID == "" {
		return activities.ReviewRecord{State: workflows.RequestOpen, PolicyDigest: r.active}, nil
	}
	_, number, _ := toolspec.SplitApprovalID(in.ApprovalID)
	req := r.requests[number-1]
	out := activities.ReviewRecord{PolicyDigest: r.active}
	if req.state == workflows.RequestOpen && !r.now().Before(req.expires) {
		req.state = workflows.RequestExpired
	}
	r.row.Rounds.Gate = max(r.row.Rounds.Gate, in.Gate)
	if in.Decision != nil && in.Decision.ApprovalID != in.ApprovalID {
		r.events = append(r.events, "a decision on another request")
	}
	if in.Close && req.state == workflows.RequestOpen {
		req.state = workflows.RequestClosed
	}
	if in.Decision != nil && req.state == workflows.RequestOpen {
		becomes, fits := workflows.Becomes(in.Decision.Decision, req.row.View.Parked != "")
		if !fits {
			out.Answer.Reason = "the request waits for other decisions"
			out.State, out.Remaining = req.state, req.expires.Sub(r.now())
			return out, nil
		}
		judgement, err := in.Judge(activities.OpenRequest{
			Rule: req.row.Rule, RequestedBy: req.row.View.RequestedBy, EditedBy: req.row.EditedBy, Digest: req.row.View.Digest, Votes: req.votes,
		})
		if err != nil {
			return activities.ReviewRecord{}, err
		}
		out.Answer = judgement.Answer
		switch {
		case judgement.Counted && judgement.Final:
			req.approver, req.state = in.Decision.Approver, becomes
		case judgement.Counted:
			req.votes = append(req.votes, policy.Vote{Seat: judgement.Seat, Approver: in.Decision.Approver})
		}
	}
	out.State, out.Approver, out.Remaining = req.state, req.approver, req.expires.Sub(r.now())
	return out, nil
}

func (r *records) SaveOutput(context.Context, activities.OutputRow) (string, error) {
	r.outputs++
	return "output-1", r.unsaved
}

// policies holds policies by digest.
type policies map[string]*policy.Policy

func (p policies) Policy(_ context.Context, digest string) (*policy.Policy, error) {
	if digest == "" {
		return nil, nil
	}
	if found, ok := p[digest]; ok {
		return found, nil
	}
	return nil, errors.New("unknown policy")
}
