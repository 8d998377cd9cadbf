package reads

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// The rows of lists are the types that clients read.
type (
	// Approval is an approval request with its decisions.
	Approval = client.ApprovalRecord
	// ApprovalFilter narrows a list of approval requests.
	ApprovalFilter = client.ApprovalFilter
	// DecisionRecord is a verified decision. It may not have counted.
	DecisionRecord = client.DecisionRecord
)

// decisionRow is a row of the statement ShowDecisions.
type decisionRow struct {
	ApprovalID  string
	Decision    toolspec.Verb
	Approver    string
	Reason      string
	Remember    bool
	Signed      bool
	KeyID       string
	Counted     bool
	Final       bool
	Entry       int
	HookEntries []int
	WhyNot      string `db:"answer"`
	At          time.Time
}

// approvalRow is a row of the statements ShowApprovals and ListApprovals.
type approvalRow struct {
	ApprovalID, InvocationID, WorkflowID, Digest, ToolID, Message, RequestedBy, OnBehalfOf, EditedBy, ApproversText, PolicyRule, PolicyDigest, PreviewDigest, Parked, Approver string

	Number           int
	Effect           toolspec.Effect
	Risk             toolspec.Risk
	SafeArgs         json.RawMessage
	State            contract.RequestState
	DecidedAt        *time.Time
	ConsumedDispatch *int
	ExpiresAt        time.Time
	CreatedAt        time.Time
	Rule             json.RawMessage
	Preview          json.RawMessage
	Now              time.Time
}

// Approvals returns the tenant's requests, newest first.
func (s *Store) Approvals(ctx context.Context, f ApprovalFilter) ([]Approval, error) {
	const op = "approvals"
	var before *time.Time
	var beforeID *string
	if f.After != nil {
		before, beforeID = &f.After.CreatedAt, &f.After.ApprovalID
	}
	rows, err := db.All[approvalRow](ctx, s.db, op, db.Query("ListApprovals", db.Values{
		"tenant_id": db.Text(f.TenantID), "run_id": f.RunID, "only_open": !f.Decided, "before": before, "before_id": beforeID,
		"max": db.Limit(cmp.Or(f.Limit, db.MaxList)),
	}))
	if err != nil {
		return nil, err
	}
	return s.withDecisions(ctx, op, rows)
}

// withDecisions turns rows into approvals, with their decisions and with the approvals that they still wait for.
func (s *Store) withDecisions(ctx context.Context, op string, rows []approvalRow) ([]Approval, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	approvals, ids, byID := make([]Approval, len(rows)), make([]string, len(rows)), map[string]*Approval{}
	for i, r := range rows {
		var err error
		if approvals[i], err = r.approval(); err != nil {
			return nil, db.Failure(op, err)
		}
		ids[i], byID[r.ApprovalID] = r.ApprovalID, &approvals[i]
	}
	decisions, err := db.All[decisionRow](ctx, s.db, op, db.Query("ShowDecisions", db.Values{"approval_ids": ids}))
	if err != nil {
		return nil, err
	}
	for _, d := range decisions {
		a := byID[d.ApprovalID]
		a.Decisions = append(a.Decisions, DecisionRecord(d))
	}
	for i := range approvals {
		if approvals[i].Missing, err = missing(approvals[i], rows[i]); err != nil {
			return nil, err
		}
	}
	return approvals, nil
}

// missing describes the approvals that an open request still waits for.
func missing(a Approval, r approvalRow) ([]string, error) {
	if a.State != contract.RequestOpen || a.Parked != "" {
		return nil, nil
	}
	rule, err := db.Decoded[policy.ApprovalRule](r.Rule)
	if err != nil {
		return nil, err
	}
	var votes []policy.Vote
	for _, d := range a.Decisions {
		if d.Counted && d.Decision == toolspec.Approve {
			votes = append(votes, policy.Vote{Entry: d.Entry, Approver: d.Approver, HookEntries: d.HookEntries})
		}
	}
	return rule.At(r.Now.Sub(r.CreatedAt)).Missing(votes), nil
}

func (r approvalRow) approval() (Approval, error) {
	rule, err := db.Decoded[policy.ApprovalRule](r.Rule)
	if err != nil {
		return Approval{}, err
	}
	preview, err := db.Optional[toolspec.PreviewView](r.Preview)
	if err != nil {
		return Approval{}, err
	}
	a := Approval{
		ApprovalView: toolspec.ApprovalView{
			ApprovalID: r.ApprovalID, ToolID: r.ToolID, Effect: r.Effect, Risk: r.Risk, Args: r.SafeArgs, Digest: r.Digest,
			Message: r.Message, RequestedBy: r.RequestedBy, OnBehalfOf: r.OnBehalfOf, Approvers: r.ApproversText, ExpiresAtMs: r.ExpiresAt.UnixMilli(), Parked: r.Parked,
			Preview: preview, PreviewDigest: r.PreviewDigest,
		},
		InvocationID: r.InvocationID, WorkflowID: r.WorkflowID, Number: r.Number, EditedBy: r.EditedBy, PolicyRule: r.PolicyRule,
		PolicyDigest: r.PolicyDigest, State: r.State, Approver: r.Approver, DecidedAt: r.DecidedAt, ConsumedDispatch: r.ConsumedDispatch,
		ExpiresAt: r.ExpiresAt, CreatedAt: r.CreatedAt,
	}
	a.Escalations = rule.Escalations(r.CreatedAt, r.ExpiresAt)
	// Escalated counts the escalations that were due while the request was open.
	for until := openUntil(r); a.Escalated < len(a.Escalations) && a.Escalations[a.Escalated].AtMs <= until.UnixMilli(); {
		a.Escalated++
	}
	return a, nil
}

// openUntil returns the time until which the request was open. For a request that was closed, the
// record has no such time, and openUntil returns the time of its creation.
func openUntil(r approvalRow) time.Time {
	switch {
	case r.DecidedAt != nil:
		return *r.DecidedAt
	case r.State == contract.RequestOpen, r.State == contract.RequestExpired:
		return r.Now
	}
	return r.CreatedAt
}
