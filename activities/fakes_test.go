package activities_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows"
)

// canary is what a tool or hook holds and nobody else may see.
const canary = "canary-4711"

// records answer what a test sets, and keep what they were told.
type records struct {
	record  activities.Record
	request activities.RequestRecord
	claim   workflows.Outcome
	err     error
	stuck   bool // claims have no answer

	admitted []activities.AdmitRow
	refused  []activities.RefusedInput
	claims   []activities.ClaimRow
	outputs  []activities.OutputRow
	grants   []activities.Grant
	roles    map[string][]string
	grant    *activities.GrantRow
	requests []activities.RequestRow
	open     activities.OpenRequest
	state    workflows.RequestState
	judged   toolspec.Answer
}

func (r *records) Admit(_ context.Context, in activities.AdmitRow) (activities.Record, error) {
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

func (r *records) Refuse(_ context.Context, in activities.RefusedInput) error {
	r.refused = append(r.refused, in)
	return r.err
}

func (r *records) Claim(ctx context.Context, in activities.ClaimRow) (workflows.Outcome, error) {
	r.claims = append(r.claims, in)
	if r.stuck {
		<-ctx.Done()
		return "", hook.Transient(ctx.Err())
	}
	if r.claim == "" {
		return workflows.Done, r.err
	}
	return r.claim, r.err
}

func (r *records) Check(context.Context, workflows.CheckIn) (workflows.CheckOut, error) {
	return workflows.CheckOut{Outcome: workflows.Free, Epoch: 7}, r.err
}

func (r *records) Settle(context.Context, workflows.SettleIn) (workflows.SettleOut, error) {
	return workflows.SettleOut{Outcome: workflows.Done}, r.err
}

func (r *records) Request(_ context.Context, in activities.RequestRow) (activities.RequestRecord, error) {
	r.requests = append(r.requests, in)
	return r.request, r.err
}

func (r *records) Roles(_ context.Context, _, identity string) ([]string, error) {
	return r.roles[identity], r.err
}

func (r *records) Grants(context.Context, activities.GrantQuery) ([]activities.Grant, error) {
	return r.grants, r.err
}

func (r *records) Review(_ context.Context, in activities.ReviewRow) (activities.ReviewRecord, error) {
	out := activities.ReviewRecord{State: r.state, PolicyDigest: "now", Remaining: time.Minute, Approver: "user:bob"}
	if in.Judge != nil && r.state == workflows.RequestOpen {
		judgement, err := in.Judge(r.open)
		if err != nil {
			return activities.ReviewRecord{}, err
		}
		out.Answer, r.grant = judgement.Answer, judgement.Grant
		if out.Answer.Counted && in.Decision.Decision == toolspec.Edit {
			out.State = workflows.RequestEdited
		}
	}
	r.judged = out.Answer
	return out, r.err
}

func (r *records) SaveOutput(_ context.Context, in activities.OutputRow) (string, error) {
	r.outputs = append(r.outputs, in)
	return "output-1", r.err
}

// policies holds one.
type policies struct{ p *policy.Policy }

func (s policies) Policy(_ context.Context, digest string) (*policy.Policy, error) {
	switch {
	case digest == "":
		return nil, nil
	case s.p != nil && digest == s.p.Digest():
		return s.p, nil
	}
	return nil, hook.Transient(errors.New(canary))
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

// world is activities with one tool and what surrounds them.
type world struct {
	*activities.Activities
	records *records
	bound   *catalog.Bound
	policy  *policy.Policy
	log     *bytes.Buffer
	runs    int
}

type setup struct {
	def    func(*toolspec.Definition)
	run    func(context.Context, in, toolspec.Call) (any, error)
	hooks  []hook.Hook
	policy string
	config activities.Config
}

const openPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["core__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}
`

func newWorld(t *testing.T, s setup) *world {
	t.Helper()
	w := &world{records: &records{}, log: &bytes.Buffer{}}
	log := slog.New(slog.NewJSONHandler(w.log, nil))
	def := toolspec.Definition{
		ID: "core__tool", Description: "A tool.", Version: "1", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}, MaskInput: []string{"/note"}},
	}
	if s.def != nil {
		s.def(&def)
	}
	tool := toolspec.Define(def, func(ctx context.Context, i in, call toolspec.Call) (o out, err error) {
		w.runs++
		if s.run == nil {
			return out{Text: i.Text, Hidden: canary}, nil
		}
		v, err := s.run(ctx, i, call)
		if v != nil {
			o = v.(out)
		}
		return o, err
	})
	source := catalog.NewRegistry(toolspec.Capabilities{})
	if err := source.Add("test", tool); err != nil {
		t.Fatal(err)
	}
	w.bound, _ = source.Get("core__tool")
	if s.policy == "" {
		s.policy = openPolicy
	}
	var err error
	if w.policy, err = policy.Parse("test.yaml", []byte(s.policy)); err != nil {
		t.Fatal(err)
	}
	registry, err := hook.NewRegistry(log, s.hooks, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Activities = activities.New(source, w.records, policies{w.policy}, registry, log, s.config)
	return w
}

func (w *world) facts() hook.Facts {
	return hook.Facts{
		InvocationID: "inv", ToolID: "core__tool", ToolCallID: "call-1", Attempt: 1, ToolDigest: w.bound.Digest(), PolicyDigest: w.policy.Digest(),
		Context: toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "user:ann"}, Effect: toolspec.StateChange, Risk: toolspec.MediumRisk,
		Args: json.RawMessage(`{"text":"hello"}`), SafeArgs: json.RawMessage(`{"text":"hello"}`),
	}
}

func (w *world) executeIn() workflows.ExecuteIn {
	return workflows.ExecuteIn{Facts: w.facts(), Epoch: 3, Dispatch: 2, Answered: []int{1}, ApprovalID: "inv.1", MaxRuntimeMs: 10_000, MaxResultBytes: 1 << 20}
}

// safe checks that the canary stands neither in what an activity returned nor in
// the log.
func (w *world) safe(t *testing.T, answer any) {
	t.Helper()
	text, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte(canary)) {
		t.Errorf("the canary leaves the activity: %s", text)
	}
	if bytes.Contains(w.log.Bytes(), []byte(canary)) {
		t.Errorf("the canary is logged: %s", w.log)
	}
}
