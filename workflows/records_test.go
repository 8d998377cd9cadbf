package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/activities/answer"
	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// records is a fake record of one call in memory, for tests that skip time: the real record
// uses the clock of the database. It passes TestRecord. Its approval requests have only the
// behaviour that these tests need.
type records struct {
	now func() time.Time

	mu  sync.Mutex
	row *admit.Record
	// admitted is the input of the last admit.
	admitted admit.Row
	requests []*request
	// granted is the person who approved every request in an earlier run; empty if there is none.
	granted    string
	claims     map[int]claimed
	tombstones map[int]bool
	settled    []contract.SettleIn
	forged     []answer.Forged
	refused    []admit.Refused
	outputs    int
	stored     json.RawMessage
	active     string
	// over are the fields Over of the checks that raised the epoch.
	over      [][]contract.Claim
	startedAt int64
	unsaved   error
	results   *results
	rows      []attempt.ClaimRow
	events    []string // faults of the workflow
	// registered are the keys of approvers. reviews counts the calls of Look.
	registered []proof.Registered
	reviews    int

	// A test sets these functions to simulate another run or a failing store. A non-zero result
	// replaces the answer of the fake.
	plan                                   func(*hook.Plan)
	onAdmit                                func(n int, row *admit.Record)
	onClaim                                func(n int) (contract.Outcome, error)
	onSettle                               func(n int) contract.Outcome
	onRequest                              func(n int) bool
	onCheck                                func(n int) contract.Outcome
	onLook                                 func(n int) bool // the review of a request is superseded
	onState                                func(n int) bool // the read of the gate state is superseded
	admits, claimed, settles, asks, checks int
	looks, states                          int
}

// dies is a result of onClaim and onCheck: the worker dies during the claim, or the check fails.
const dies contract.Outcome = "dies"

type claimed struct {
	id         string
	repeatable bool
	// over is the time from which the tool of the claim can no longer run.
	over time.Time
	// answer is the kept answer; nil if there is none. subject is the digest of the work that the claim is for.
	answer  json.RawMessage
	subject string
}

// overMargin and endMargin are copies of the constants of internal/postgres/record.
const (
	overMargin = 10 * time.Second
	endMargin  = 8 * time.Second
)

func newRecords(active string, now func() time.Time) *records {
	return &records{active: active, claims: make(map[int]claimed), tombstones: make(map[int]bool), now: now}
}

func (r *records) Admit(_ context.Context, in admit.Row) (admit.Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.row == nil:
		r.admitted, r.startedAt = in, in.StartedAt.UnixMilli()
		r.row = &admit.Record{Digest: in.InputDigest, Epoch: 1, Plan: in.Plan}
		if r.plan != nil {
			r.plan(&r.row.Plan)
		}
	case r.row.Result != nil || r.row.Digest != in.InputDigest:
	case r.admitted.Namespace != in.Namespace:
		elsewhere := *r.row
		elsewhere.Elsewhere = true
		return elsewhere, nil
	default:
		r.admitted = in
		r.row.Epoch++
	}
	if r.admits++; r.onAdmit != nil {
		r.onAdmit(r.admits, r.row)
	}
	out := *r.row
	out.PolicyDigest = r.active
	out.Connection = r.connection()
	return out, nil
}

// connection returns the connection of the call, or nil. Everybody may use every connection.
func (r *records) connection() *hook.Connection {
	c := r.admitted.Invocation.Context
	if c.ConnectionID == "" {
		return nil
	}
	return &hook.Connection{Generation: 1, Status: "active", Grants: []hook.ConnectionGrant{{Grantee: c.ActorID}}}
}

func (r *records) Refuse(_ context.Context, in admit.Refused) error {
	r.refused = append(r.refused, in)
	return nil
}

// owns reports whether the call is open and belongs to the workflow run that executes the activity.
func (r *records) owns(ctx context.Context, epoch int) bool {
	run := contract.Executing(ctx).RunID
	return r.row != nil && r.row.Result == nil && r.row.Epoch == epoch && r.admitted.RunID == run && run != ""
}

func (r *records) Begin(context.Context, attempt.BeginRow) error { return nil }

func (r *records) ReportProgress(context.Context, attempt.ProgressRow) (bool, error) {
	return false, nil
}

func (r *records) Claim(ctx context.Context, in attempt.ClaimRow) (contract.Outcome, error) {
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
	call := r.admitted.Invocation
	switch {
	case !r.owns(ctx, in.Epoch) || in.TenantID != call.Context.TenantID || in.ToolID != call.ToolID:
		return contract.Superseded, nil
	case r.tombstones[in.Dispatch]:
		return contract.Tombstoned, nil
	}
	for dispatch, c := range r.claims {
		waits := in.Subject != "" && (c.subject == in.Subject || c.subject == "" && c.over.After(r.now().Add(endMargin)))
		if (waits || !(in.Repeatable && c.repeatable)) && !slices.Contains(in.Answered, contract.Claim{Dispatch: dispatch, ID: c.id}) {
			return contract.Claimed, nil
		}
	}
	if _, again := r.claims[in.Dispatch]; again {
		return contract.Redelivered, nil
	}
	r.claims[in.Dispatch] = claimed{id: in.ClaimID, repeatable: in.Repeatable, over: r.now().Add(in.Runtime + overMargin)}
	r.row.Rounds.Dispatch = max(r.row.Rounds.Dispatch, in.Dispatch)
	return contract.Done, nil
}

// written writes the claim that onClaim is about, so that the record has the claim even if its
// answer is lost.
func (r *records) written(repeatable bool) {
	row := r.rows[len(r.rows)-1]
	r.claims[row.Dispatch] = claimed{id: row.ClaimID, repeatable: repeatable, over: r.now().Add(row.Runtime + overMargin)}
}

func (r *records) Earlier(ctx context.Context, in attempt.EarlierRow) (attempt.EarlierClaim, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.owns(ctx, in.Epoch) || in.TenantID != r.admitted.Invocation.Context.TenantID {
		return attempt.EarlierClaim{}, false, nil
	}
	var last attempt.EarlierClaim
	for _, dispatch := range slices.Sorted(maps.Keys(r.claims)) {
		c := r.claims[dispatch]
		if claim := (contract.Claim{Dispatch: dispatch, ID: c.id}); !slices.Contains(in.Answered, claim) && (c.subject == in.Subject || last.Subject != in.Subject) {
			last = attempt.EarlierClaim{Claim: claim, Answer: c.answer, Subject: c.subject, Runs: max(c.over.Add(-endMargin).Sub(r.now()), 0)}
		}
	}
	return last, last.ID != "", nil
}

func (r *records) Keep(_ context.Context, in attempt.KeepRow) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c, ok := r.claims[in.Dispatch]; ok && c.id == in.ID && r.row.Result == nil {
		c.answer, c.subject = in.Answer, in.Subject
		r.claims[in.Dispatch] = c
	}
	return nil
}

func (r *records) Check(ctx context.Context, in contract.CheckIn) (contract.CheckOut, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.checks++; r.onCheck != nil {
		if outcome := r.onCheck(r.checks); outcome == dies {
			return contract.CheckOut{}, errLost
		} else if outcome != "" {
			return contract.CheckOut{Outcome: outcome}, nil
		}
	}
	if !r.owns(ctx, in.Epoch) {
		return contract.CheckOut{Outcome: contract.Superseded}, nil
	}
	out := contract.CheckOut{Outcome: contract.Lost}
	for _, dispatch := range slices.Sorted(maps.Keys(r.claims)) {
		claim := contract.Claim{Dispatch: dispatch, ID: r.claims[dispatch].id}
		out.Claims = append(out.Claims, claim)
		if !slices.Contains(in.Over, claim) {
			out.OverInMs = max(out.OverInMs, r.claims[dispatch].over.Sub(r.now()).Milliseconds())
		}
	}
	if _, begun := r.claims[in.Dispatch]; !begun {
		r.over = append(r.over, in.Over)
		if out.Outcome = contract.Free; !r.tombstones[in.Dispatch] {
			r.tombstones[in.Dispatch] = true
			r.row.Rounds.Dispatch = max(r.row.Rounds.Dispatch, in.Dispatch)
			r.row.Epoch++
		}
	}
	out.Epoch = r.row.Epoch
	return out, nil
}

func (r *records) Owned(ctx context.Context, in stage.OwnedRow) (hook.Plan, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	call := r.admitted.Invocation
	return r.row.Plan, r.owns(ctx, in.Epoch) && in.ToolID == call.ToolID && in.ToolCallID == call.ToolCallID && recorded(in.Context) == recorded(call.Context), nil
}

// recorded returns the fields of a context that the record compares.
func recorded(c toolspec.Context) [6]string {
	return [...]string{c.TenantID, c.RunID, c.ActorID, c.SubjectID, c.SessionID, c.ConnectionID}
}

func (r *records) Forged(_ context.Context, in answer.Forged) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forged = append(r.forged, in)
	return nil
}

func (r *records) Settle(ctx context.Context, in contract.SettleIn) (contract.SettleOut, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.settles++; r.onSettle != nil {
		if outcome := r.onSettle(r.settles); outcome != "" {
			return contract.SettleOut{Outcome: outcome}, nil
		}
	}
	switch {
	case in.TenantID != r.admitted.Invocation.Context.TenantID:
		return contract.SettleOut{Outcome: contract.Superseded}, nil
	case r.row.Result != nil:
		return contract.SettleOut{Outcome: contract.AlreadySettled, Result: r.row.Result}, nil
	case !r.owns(ctx, in.Epoch):
		return contract.SettleOut{Outcome: contract.Superseded}, nil
	}
	if out := r.unaccounted(in); len(out.Unaccounted) > 0 {
		return out, nil
	}
	r.settled = append(r.settled, in)
	if in.Kept != nil {
		r.results.keep(in.InvocationID, *in.Kept)
	}
	r.row.Result = &in.Result
	return contract.SettleOut{Outcome: contract.Done}, nil
}

func (r *records) unaccounted(in contract.SettleIn) contract.SettleOut {
	out := contract.SettleOut{Outcome: contract.Unaccounted}
	for _, dispatch := range slices.Sorted(maps.Keys(r.claims)) {
		c := r.claims[dispatch]
		claim := contract.Claim{Dispatch: dispatch, ID: c.id}
		if !c.repeatable && in.Result.ErrorCode != toolspec.CodeOutcomeUnknown && !slices.Contains(in.Claims, claim) {
			out.Unaccounted = append(out.Unaccounted, claim)
		}
	}
	return out
}

func (r *records) Output(context.Context, string, string) (json.RawMessage, error) {
	return r.stored, nil
}

func (r *records) SaveOutput(_ context.Context, in attempt.OutputRow) (string, error) {
	r.outputs++
	r.stored = in.Value
	return "output-1", r.unsaved
}

// NewOutput returns nil, because no tool of these tests has a stream.
func (r *records) NewOutput(attempt.StreamRow) attempt.OutputWriter { return nil }

// policies holds policies by digest.
type policies map[string]*policy.Policy

// unreadable is the digest of a version of the policy that the worker cannot read.
const unreadable = "of a newer release"

func (p policies) Policy(_ context.Context, digest string) (*policy.Policy, error) {
	if digest == "" {
		return nil, nil
	}
	if found, ok := p[digest]; ok {
		return found, nil
	}
	if digest == unreadable {
		return nil, judge.ErrPolicyUnreadable
	}
	return nil, errors.New("unknown policy")
}
