package activities_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/activities"
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
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

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
