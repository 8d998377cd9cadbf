package reads

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Approval is an approval request with its decisions.
type Approval struct {
	toolspec.ApprovalView
	InvocationID string
	WorkflowID   string
	Number       int
	EditedBy     string
	PolicyRule   string
	PolicyDigest string
	State        contract.RequestState
	Approver     string
	DecidedAt    *time.Time
	// ConsumedDispatch is the first dispatch that used the approval, or nil.
	ConsumedDispatch *int
	ExpiresAt        time.Time
	CreatedAt        time.Time
	Decisions        []DecisionRecord
	// Escalated counts the escalations whose time had come when this was read, by the database
	// clock.
	Escalated int
}

// DecisionRecord is a verified decision. It may not have counted.
type DecisionRecord struct {
	ApprovalID string
	Decision   toolspec.Verb
	Approver   string
	Reason     string
	Remember   bool
	// Signed says that a signature of the approver was verified. KeyID is the key.
	Signed  bool
	KeyID   string
	Counted bool
	// Final says that the decision gave the request its final answer. Seat is the index in the
	// chain of approvers for which the decision counted, from 0.
	Final bool
	Seat  int
	// WhyNot is the answer to the sender: the reason why the decision did not count, or a remark
	// if it did.
	WhyNot string `db:"answer"`
	At     time.Time
}

// approvalRow is a row of the statements ShowApprovals and ListApprovals.
type approvalRow struct {
	ApprovalID, InvocationID, WorkflowID, Digest, ToolID, Message, RequestedBy, EditedBy, ApproversText, PolicyRule, PolicyDigest, Parked, Approver string

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
	Now              time.Time
}

// Approvals returns the tenant's requests, newest first, at most 500. onlyOpen leaves out
// requests that cannot be decided any more.
func (s *Store) Approvals(ctx context.Context, tenantID string, onlyOpen bool) ([]Approval, error) {
	const op = "approvals"
	rows, err := db.All[approvalRow](ctx, s.db, op, db.Query("ListApprovals", db.Values{
		"tenant_id": db.Text(tenantID), "only_open": onlyOpen, "max": db.MaxList,
	}))
	if err != nil {
		return nil, err
	}
	return s.withDecisions(ctx, op, rows)
}

func (s *Store) withDecisions(ctx context.Context, op string, rows []approvalRow) ([]Approval, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	approvals, ids, at := make([]Approval, len(rows)), make([]string, len(rows)), map[string]*Approval{}
	for i, r := range rows {
		var err error
		if approvals[i], err = r.approval(); err != nil {
			return nil, db.Failure(op, err)
		}
		ids[i], at[r.ApprovalID] = r.ApprovalID, &approvals[i]
	}
	decisions, err := db.All[DecisionRecord](ctx, s.db, op, db.Query("ShowDecisions", db.Values{"approval_ids": ids}))
	for _, d := range decisions {
		at[d.ApprovalID].Decisions = append(at[d.ApprovalID].Decisions, d)
	}
	return approvals, err
}

func (r approvalRow) approval() (Approval, error) {
	rule, err := db.Decoded[policy.ApprovalRule](r.Rule)
	if err != nil {
		return Approval{}, err
	}
	a := Approval{
		ApprovalView: toolspec.ApprovalView{
			ApprovalID: r.ApprovalID, ToolID: r.ToolID, Effect: r.Effect, Risk: r.Risk, Args: r.SafeArgs, Digest: r.Digest,
			Message: r.Message, RequestedBy: r.RequestedBy, Approvers: r.ApproversText, ExpiresAtMs: r.ExpiresAt.UnixMilli(), Parked: r.Parked,
		},
		InvocationID: r.InvocationID, WorkflowID: r.WorkflowID, Number: r.Number, EditedBy: r.EditedBy, PolicyRule: r.PolicyRule,
		PolicyDigest: r.PolicyDigest, State: r.State, Approver: r.Approver, DecidedAt: r.DecidedAt, ConsumedDispatch: r.ConsumedDispatch,
		ExpiresAt: r.ExpiresAt, CreatedAt: r.CreatedAt,
	}
	a.Escalations = rule.Escalations(r.CreatedAt, r.ExpiresAt)
	// A decision ends the escalations that follow it.
	for until := ended(r); a.Escalated < len(a.Escalations) && a.Escalations[a.Escalated].AtMs <= until.UnixMilli(); {
		a.Escalated++
	}
	return a, nil
}

// ended returns the time until which the request was open. For a request that was closed, the
// record has no such time, and ended returns the time of its creation.
func ended(r approvalRow) time.Time {
	switch {
	case r.DecidedAt != nil:
		return *r.DecidedAt
	case r.State == contract.RequestOpen, r.State == contract.RequestExpired:
		return r.Now
	}
	return r.CreatedAt
}
