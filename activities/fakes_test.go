package activities_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/activities/answer"
	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/activities/gate"
	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/workerkey/workerkeytest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/authz/authztest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/catalog"
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

// world has the activities of a worker with one tool, and the parts that they need.
type world struct {
	*activities.Activities
	records *records
	bound   *catalog.Bound
	policy  *policy.Policy
	log     *bytes.Buffer
	counts  sync.Mutex
	runs    int
	// claimID is the id of the last claim.
	claimID string
	// claimsLocally makes attempts with a claim run in the claimed lane instead of the regular lane.
	claimsLocally bool
}

type setup struct {
	def   func(*toolspec.Definition)
	run   func(context.Context, in, toolspec.Call) (any, error)
	probe func(context.Context, in, toolspec.Call) (toolspec.Found[out], error)
	// tool, if not nil, makes the tool instead of run and probe.
	tool   func(toolspec.Definition) toolspec.Tool
	hooks  []hook.Hook
	policy string
	config activities.Config
	// own returns more of Pawl's own steps, beside the steps of config.
	own func(judge.Source, policies) stage.Table
	// gate uses the real gate, with an engine that allows everything. Without it, a fake gate allows every call.
	gate bool
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
	run := func(ctx context.Context, i in, call toolspec.Call) (o out, err error) {
		w.counts.Lock()
		w.runs++
		w.counts.Unlock()
		if s.run == nil {
			return out{Text: i.Text, Hidden: canary}, nil
		}
		v, err := s.run(ctx, i, call)
		if v != nil {
			o = v.(out)
		}
		return o, err
	}
	tool := toolspec.Define(def, run)
	if s.probe != nil {
		tool = toolspec.DefineWithProbe(def, run, s.probe)
	}
	if s.tool != nil {
		tool = s.tool(def)
	}
	provided, err := toolspec.NewCapabilities(capability.ClientsKey.Provide(broker.Outside{}))
	if err != nil {
		t.Fatal(err)
	}
	source := catalog.NewRegistry(provided)
	if err := source.Add("test", tool); err != nil {
		t.Fatal(err)
	}
	w.bound, _ = source.Get(def.ID)
	if s.policy == "" {
		s.policy = openPolicy
	}
	if w.policy, err = policy.Parse("test.yaml", []byte(s.policy)); err != nil {
		t.Fatal(err)
	}
	registry, err := hook.NewRegistry(log, s.hooks, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.config.Keys == nil {
		s.config.Keys = workerkeytest.New()
	}
	if s.config.Own == nil {
		s.config.Own = stage.Table{hook.WillCheckConsent.Stage(): {Before: func(context.Context, hook.StageInput) (v hook.Verdict, err error) { return v, nil }}}
	}
	if s.gate {
		s.config.Own = gate.Steps(gate.Parts{Policies: policies{w.policy}, Engine: authztest.AllowAll{}, Tools: source, Log: log})
	}
	if s.own != nil {
		maps.Copy(s.config.Own, s.own(source, policies{w.policy}))
	}
	w.Activities = activities.New(source, w.records, policies{w.policy}, registry, log, s.config)
	return w
}

func (w *world) facts() hook.Facts {
	return hook.Facts{
		InvocationID: "inv", ToolID: w.bound.ID(), ToolCallID: "call-1", Attempt: 1, ToolDigest: w.bound.Digest(), PolicyDigest: w.policy.Digest(),
		Context: toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "user:ann"}, Effect: toolspec.StateChange, Risk: toolspec.MediumRisk,
		Args: json.RawMessage(`{"text":"hello"}`), SafeArgs: json.RawMessage(`{"text":"hello"}`),
	}
}

func (w *world) executeIn() contract.ExecuteIn {
	return contract.ExecuteIn{
		Facts: w.facts(), Epoch: 3, Dispatch: 2, Answered: []contract.Claim{{Dispatch: 1, ID: "first"}},
		Terms: hook.Terms{MaxRuntimeMs: 10_000, MaxResultBytes: 1 << 20},
	}
}

// as returns a context in which the Temporal run "run" executes an activity.
func as(ctx context.Context, local bool) context.Context {
	return contract.WithExecution(ctx, contract.Execution{RunID: "run", WorkflowID: "tool:acme:run-1:call-1", Local: local})
}

// Execute runs an attempt with the permit of the test or, without one, with a permit of the gate.
func (w *world) Execute(ctx context.Context, in contract.ExecuteIn) (contract.ExecuteOut, error) {
	ctx = as(ctx, in.Dispatch == 0 || w.claimsLocally)
	if in.Permit == nil {
		in.Permit = w.permit(ctx, in.Facts, in.Terms)
	}
	return w.Activities.Execute(ctx, in)
}

// Stage runs a stage as the workflow does. A stage with a budget runs as a regular activity, and the recorded
// plan has the stage.
func (w *world) Stage(ctx context.Context, in hook.StageInput) (hook.Verdict, error) {
	if in.BudgetMs > 0 && w.records.record.Plan.V == 0 {
		w.records.record.Plan = hook.Plan{V: hook.PlanVersion, Pre: []hook.Step{{Stage: in.Stage, Hooks: in.Hooks, DurableMs: in.BudgetMs}}}
	}
	if in.BudgetMs > 0 {
		in.Part = hook.PartHooks
	}
	return w.Activities.Stage(as(ctx, in.BudgetMs == 0), in)
}

// permit returns the permit that the last stage of the gate gives for the facts.
func (w *world) permit(ctx context.Context, f hook.Facts, t hook.Terms) json.RawMessage {
	v, err := w.Activities.Stage(as(context.WithoutCancel(ctx), true), hook.StageInput{Stage: hook.WillCheckConsent.Stage(), Facts: f, Terms: &t})
	if err != nil {
		panic(err)
	}
	return v.Permit
}

// checkCanary checks that the canary is neither in the answer of an activity nor in the log.
func (w *world) checkCanary(t *testing.T, answer any) {
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
