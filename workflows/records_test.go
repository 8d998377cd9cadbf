package workflows_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
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
	claims   map[int]bool
	settled  []workflows.SettleIn
	refused  []activities.RefusedInput
	outputs  int
	active   string
}

type request struct {
	row      activities.RequestRow
	state    workflows.RequestState
	approver string
	expires  time.Time
}

func newRecords(active string, now func() time.Time) *records {
	return &records{active: active, claims: make(map[int]bool), now: now}
}

func (r *records) Admit(_ context.Context, in activities.AdmitRow) (activities.Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.row == nil:
		r.row = &activities.Record{Digest: in.InputDigest, Epoch: 1, Plan: in.Plan}
	case r.row.Result == nil && r.row.Digest == in.InputDigest:
		r.row.Epoch++
	}
	out := *r.row
	out.PolicyDigest = r.active
	return out, nil
}

func (r *records) Refuse(_ context.Context, in activities.RefusedInput) error {
	r.refused = append(r.refused, in)
	return nil
}

func (r *records) Claim(_ context.Context, in activities.ClaimRow) (workflows.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if in.Epoch != r.row.Epoch {
		return workflows.Superseded, nil
	}
	r.claims[in.Dispatch] = true
	return workflows.Done, nil
}

func (r *records) Check(_ context.Context, in workflows.CheckIn) (workflows.CheckOut, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.claims[in.Dispatch] {
		return workflows.CheckOut{Outcome: workflows.Lost}, nil
	}
	r.row.Epoch++
	return workflows.CheckOut{Outcome: workflows.Free, Epoch: r.row.Epoch}, nil
}

func (r *records) Settle(_ context.Context, in workflows.SettleIn) (workflows.SettleOut, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if in.Epoch != r.row.Epoch {
		return workflows.SettleOut{Outcome: workflows.Superseded}, nil
	}
	if r.row.Result != nil {
		return workflows.SettleOut{Outcome: workflows.AlreadySettled, Result: r.row.Result}, nil
	}
	r.settled = append(r.settled, in)
	r.row.Result = &in.Result
	return workflows.SettleOut{Outcome: workflows.Done}, nil
}

func (r *records) Request(_ context.Context, in activities.RequestRow) (activities.RequestRecord, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	number := len(r.requests) + 1
	req := &request{row: in, state: workflows.RequestOpen, expires: r.now().Add(in.ExpireAfter)}
	r.requests = append(r.requests, req)
	return activities.RequestRecord{Number: number, ExpiresAt: req.expires, Remaining: in.ExpireAfter, Granted: in.Granted}, nil
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
	if in.Decision != nil && req.state == workflows.RequestOpen {
		out.Answer = in.Judge(activities.OpenRequest{Rule: req.row.Rule, RequestedBy: req.row.View.RequestedBy, EditedBy: req.row.EditedBy})
		if out.Answer.Counted {
			req.approver = in.Decision.Approver
			switch in.Decision.Decision {
			case toolspec.Approve:
				req.state = workflows.RequestApproved
			case toolspec.Deny:
				req.state = workflows.RequestDenied
			case toolspec.Edit:
				req.state = workflows.RequestEdited
			case toolspec.Withdraw:
				req.state = workflows.RequestWithdrawn
			case toolspec.Retry, toolspec.SettleOK, toolspec.SettleFailed:
			}
		}
	}
	out.State, out.Approver, out.Remaining = req.state, req.approver, req.expires.Sub(r.now())
	return out, nil
}

func (r *records) SaveOutput(context.Context, activities.OutputRow) (string, error) {
	r.outputs++
	return "output-1", nil
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
