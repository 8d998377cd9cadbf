package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/activities/answer"
	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// canary is a text of a tool or a hook that must not leave the worker.
const canary = "canary-4711"

// records returns the answers that a test sets, and keeps the rows that it gets.
type records struct {
	record    admit.Record
	request   approval.RequestRecord
	claim     contract.Outcome
	err       error
	stuck     bool       // claims have no answer
	saveHangs bool       // the write of a large value does not return
	foreign   bool       // another execution owns the call
	mu        sync.Mutex // guards claims, begun and progress

	owned  []stage.OwnedRow
	forged []answer.Forged

	admitted []admit.Row
	refused  []admit.Refused
	claims   []attempt.ClaimRow
	kept     []attempt.KeepRow
	// earlier returns the claim that Earlier returns at its nth call; nil returns no claim. unkept is the error of
	// Keep.
	earlier  func(look int) attempt.EarlierClaim
	looks    int
	unkept   error
	begun    []attempt.BeginRow
	progress []attempt.ProgressRow
	outputs  []attempt.OutputRow
	grants   []approval.Grant
	roles    map[string][]string
	grant    *approval.GrantRow
	// judgement is the last judgement that Decide got; grantQueries counts the calls of Grants.
	judgement    approval.Judgement
	grantQueries int
	requests     []approval.RequestRow
	open         approval.OpenRequest
	state        contract.RequestState
	// requestKeys are the keys of the tenant of the request.
	requestKeys approval.RequestKeys
	judged      toolspec.Answer
}

func (r *records) Admit(_ context.Context, in admit.Row) (admit.Record, error) {
	r.admitted = append(r.admitted, in)
	out := r.record
	if out.Digest == "" {
		out.Digest = in.InputDigest
	}
	if out.Plan.V == 0 {
		out.Plan = in.Plan
	}
	return out, r.err
}

func (r *records) Refuse(_ context.Context, in admit.Refused) error {
	r.refused = append(r.refused, in)
	return r.err
}

func (r *records) Owned(ctx context.Context, in stage.OwnedRow) (hook.Plan, bool, error) {
	r.owned = append(r.owned, in)
	return r.record.Plan, !r.foreign, r.err
}

func (r *records) Forged(_ context.Context, in answer.Forged) error {
	r.forged = append(r.forged, in)
	return r.err
}

func (r *records) Claim(ctx context.Context, in attempt.ClaimRow) (contract.Outcome, error) {
	r.mu.Lock()
	r.claims = append(r.claims, in)
	r.mu.Unlock()
	if r.stuck {
		<-ctx.Done()
		return "", errs.Transient(ctx.Err())
	}
	if r.claim == "" {
		return contract.Done, r.err
	}
	return r.claim, r.err
}

func (r *records) Earlier(context.Context, attempt.EarlierRow) (attempt.EarlierClaim, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looks++
	if r.earlier == nil {
		return attempt.EarlierClaim{}, false, r.err
	}
	return r.earlier(r.looks), true, r.err
}

func (r *records) Keep(_ context.Context, in attempt.KeepRow) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, in)
	return r.unkept
}

func (r *records) Begin(_ context.Context, in attempt.BeginRow) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = append(r.begun, in)
	return r.err
}

func (r *records) ReportProgress(_ context.Context, in attempt.ProgressRow) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress = append(r.progress, in)
	return true, r.err
}

func (r *records) Check(context.Context, contract.CheckIn) (contract.CheckOut, error) {
	return contract.CheckOut{Outcome: contract.Free, Epoch: 7}, r.err
}

func (r *records) Settle(context.Context, contract.SettleIn) (contract.SettleOut, error) {
	return contract.SettleOut{Outcome: contract.Done}, r.err
}

func (r *records) Request(_ context.Context, in approval.RequestRow) (approval.RequestRecord, error) {
	r.requests = append(r.requests, in)
	return r.request, r.err
}

func (r *records) Roles(_ context.Context, _, identity string) ([]string, error) {
	return r.roles[identity], r.err
}

func (r *records) Grants(_ context.Context, q approval.GrantQuery) ([]approval.Grant, error) {
	r.grantQueries++
	return slices.DeleteFunc(slices.Clone(r.grants), func(g approval.Grant) bool { return g.ArgsDigest != "" && g.ArgsDigest != q.ArgsDigest }), r.err
}

func (r *records) Look(_ context.Context, in approval.LookRow) (approval.LookRecord, error) {
	out := approval.LookRecord{State: r.state, PolicyDigest: "now", Remaining: time.Minute, Approver: "user:bob", Request: &r.open}
	if in.Refresh {
		out.Keys = r.requestKeys
	}
	r.judged = toolspec.Answer{}
	if r.state != contract.RequestOpen {
		out.Recorded = &r.judged
	}
	return out, r.err
}

func (r *records) Decide(_ context.Context, in approval.DecideRow) (approval.DecideRecord, error) {
	out := approval.DecideRecord{State: r.state, PolicyDigest: "now", Remaining: time.Minute, Approver: "user:bob", Answer: in.Judgement.Answer}
	r.judgement = in.Judgement
	r.judged, r.grant = in.Judgement.Answer, in.Judgement.Grant
	if in.Judgement.Counted && in.Decision.Decision == toolspec.Edit {
		out.State = in.Becomes
	}
	return out, r.err
}

func (r *records) SaveOutput(ctx context.Context, in attempt.OutputRow) (string, error) {
	if r.saveHangs {
		select {
		case <-ctx.Done():
			return "", errs.Transient(ctx.Err())
		case <-time.After(time.Hour): // the connection breaks
			return "", errs.Transient(errors.New("broken"))
		}
	}
	r.outputs = append(r.outputs, in)
	return "output-1", r.err
}

func (r *records) Output(context.Context, string, string) (json.RawMessage, error) {
	if len(r.outputs) == 0 {
		return nil, errors.New("no output")
	}
	return r.outputs[len(r.outputs)-1].Value, r.err
}

// NewOutput implements attempt.Store. The tools of these tests have no stream.
func (r *records) NewOutput(attempt.StreamRow) attempt.OutputWriter { return nil }

// policies returns one policy for every digest.
type policies struct{ p *policy.Policy }

func (s policies) Policy(_ context.Context, digest string) (*policy.Policy, error) {
	switch {
	case digest == "":
		return nil, nil
	case s.p != nil && digest == s.p.Digest():
		return s.p, nil
	}
	return nil, errs.Transient(errors.New(canary))
}

type in struct {
	Text string `json:"text,omitempty"`
	Note string `json:"note,omitempty"`
	N    int    `json:"n,omitempty"`
}

type out struct {
	Text   string `json:"text"`
	Hidden string `json:"hidden,omitempty"`
}

const openPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["core__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}
`
