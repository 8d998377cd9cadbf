package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/activities/cache"
	"github.com/pawl-run/pawl/activities/capacity"
	"github.com/pawl-run/pawl/activities/gate"
	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/internal/workerkey/workerkeytest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/authz/authztest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/workflows"
	"github.com/pawl-run/pawl/workflows/envtest"
)

const testPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["core__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}
`

// slowRetries has a pause of one minute between attempts, so that on a busy machine too, a test can act between two attempts.
var slowRetries = strings.Replace(testPolicy, "mode: auto", "mode: auto\n    budgets: {retryDelayMs: 60000}", 1)

type echoIn struct {
	Text string `json:"text"`
	Mode string `json:"mode,omitempty"`
}

type echoOut struct {
	Text   string `json:"text"`
	Hidden string `json:"hidden,omitempty"`
}

// rig is one call in the time-skipping environment, with the real activities.
type rig struct {
	t       *testing.T
	env     *testsuite.TestWorkflowEnvironment
	records *records
	// activities are the activities that the environment runs for the call.
	activities *activities.Activities
	store      policies
	runs       atomic.Int64
	fail       func(run int) error
}

type rigOptions struct {
	policy string
	hooks  []hook.Hook
	// own are steps of Pawl's own that replace real steps or are added to them.
	own stage.Table
	// places are the times at which the steps in own gave slots.
	places *capacity.SlotTimes
	fail   func(run int) error
	tools  []toolspec.Tool
	// results is a result cache that several rigs share; nil means an empty cache.
	results *results
	// source returns the source of tools in front of the registry, such as a source that lacks tools; nil means the registry.
	source func(judge.Source) judge.Source
	// gateSource returns the source of tools for the gate; nil means the registry.
	gateSource func(judge.Source) judge.Source
	// keys sign and verify; nil means the keys of a worker.
	keys attempt.Keys
	// workers are the other workers; nil means that there are none.
	workers admit.Workers
	// engine authorizes; nil allows everything.
	engine authz.Port
}

func newRig(t *testing.T, o rigOptions) *rig {
	t.Helper()
	r := &rig{t: t, env: envtest.New(), fail: o.fail}
	if o.policy == "" {
		o.policy = testPolicy
	}
	p, err := policy.Parse("test.yaml", []byte(o.policy))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	source := catalog.NewRegistry(toolspec.Capabilities{})
	if err := source.Add("test", append(r.tools(), o.tools...)...); err != nil {
		t.Fatal(err)
	}
	store := policies{p.Digest(): p}
	r.store = store
	if o.engine == nil {
		o.engine = authztest.AllowAll{}
	}
	if o.results == nil {
		o.results = &results{}
	}
	o.results.now = r.env.Now
	var judged judge.Source = source
	if o.gateSource != nil {
		judged = o.gateSource(source)
	}
	own := stage.Join(
		gate.Steps(gate.Parts{Policies: store, Engine: o.engine, Tools: judged, Log: log}),
		capacity.Features(store), cache.Steps(store, source, o.results, log), o.own,
	)
	registry, err := hook.NewRegistry(log, o.hooks, nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.keys == nil {
		o.keys = workerkeytest.New()
	}
	r.records = newRecords(p.Digest(), r.env.Now)
	r.records.results = o.results
	var found judge.Source = source
	if o.source != nil {
		found = o.source(source)
	}
	r.activities = activities.New(found, r.records, store, registry, log, activities.Config{SearchAttributes: true, Submitters: vouching{}, Repairer: hydrate.Careful{}, Keys: o.keys, Own: own, SlotTimes: o.places, Workers: o.workers})
	r.activities.Register(r.env)
	r.env.RegisterWorkflowWithOptions(workflows.InvokeTool, workflow.RegisterOptions{Name: toolspec.WorkflowType})
	return r
}

// vouching is a fake verifier of submitters that accepts every proof.
type vouching struct{}

func (vouching) Vouched(context.Context, admit.VouchRow) (keyID, fault string, err error) {
	return "key", "", nil
}

// ran returns how often the tools of the rig ran. A tool that timed out may still run.
func (r *rig) ran() int { return int(r.runs.Load()) }

// tools returns four tools: a read in the local lane, a read in the regular lane, an idempotent write, and a write that must not be repeated.
func (r *rig) tools() []toolspec.Tool {
	run := func(_ context.Context, in echoIn, _ toolspec.Call) (echoOut, error) {
		n := int(r.runs.Add(1))
		if r.fail != nil {
			if err := r.fail(n); err != nil {
				return echoOut{}, err
			}
		}
		return echoOut{Text: in.Text, Hidden: "hidden"}, nil
	}
	def := toolspec.Definition{
		Description: "test tool", Version: "1", Risk: toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}}, Effect: toolspec.ReadOnly, MaxArgsBytes: toolspec.MaxInline,
	}
	read, remote, write, mail := def, def, def, def
	read.ID, read.Fast = "core__read", true
	remote.ID = "core__remote"
	write.ID, write.Effect, write.Risk, write.Idempotent = "core__write", toolspec.StateChange, toolspec.MediumRisk, true
	mail.ID, mail.Effect, mail.Risk = "core__mail", toolspec.ExternalSideEffect, toolspec.HighRisk
	return []toolspec.Tool{
		toolspec.Define(read, run), toolspec.Define(remote, run), toolspec.Define(write, run), toolspec.Define(mail, run),
	}
}

// activate makes another policy the active policy.
func (r *rig) activate(text string) {
	p, err := policy.Parse("next.yaml", []byte(text))
	if err != nil {
		r.t.Error(err)
		return
	}
	r.records.mu.Lock()
	defer r.records.mu.Unlock()
	r.store[p.Digest()], r.records.active = p, p.Digest()
}

func call(toolID, args string) toolspec.Invocation {
	return toolspec.Invocation{
		ToolID: toolID, ToolCallID: "call-1", Args: json.RawMessage(args),
		Context: toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "user:ann"},
	}
}

// run executes the call and returns its result.
func (r *rig) run(inv toolspec.Invocation) toolspec.Result {
	r.t.Helper()
	r.env.SetStartWorkflowOptions(startOptions(inv.Identity().WorkflowID()))
	r.env.ExecuteWorkflow(toolspec.WorkflowType, inv)
	return r.result()
}

func (r *rig) result() toolspec.Result {
	r.t.Helper()
	if !r.env.IsWorkflowCompleted() {
		r.t.Fatal("the workflow did not complete")
	}
	var result toolspec.Result
	if err := r.env.GetWorkflowError(); err != nil {
		r.t.Fatalf("the workflow failed: %v", err)
	}
	if err := r.env.GetWorkflowResult(&result); err != nil {
		r.t.Fatal(err)
	}
	return result
}

// decideAfter sends a decision on request n as a signal, after the time d.
func (r *rig) decideAfter(d time.Duration, n int, verb toolspec.Verb, approver string, change ...func(*toolspec.Decision)) {
	inv := call("", "").Identity().InvocationID()
	r.env.RegisterDelayedCallback(func() {
		decision := toolspec.Decision{ApprovalID: toolspec.ApprovalID(inv, n), Decision: verb, Approver: approver}
		for _, c := range change {
			c(&decision)
		}
		r.env.SignalWorkflow(toolspec.DecideName, decision)
	}, d)
}

// stages returns a line for each stage in the record of the settled call, with its outcome.
func (r *rig) stages() string {
	r.t.Helper()
	if len(r.records.settled) != 1 {
		r.t.Fatalf("settled %d times, want once", len(r.records.settled))
	}
	var b strings.Builder
	for _, e := range r.records.settled[0].Stages {
		b.WriteString(e.Stage)
		if e.Round > 1 {
			b.WriteString(" (round)")
		}
		b.WriteString(": " + e.Outcome + "\n")
	}
	return b.String()
}

var errPlain = errors.New("canary-9f3 plain error")

// state returns the answer of the call to the state query.
func (r *rig) state() toolspec.State {
	r.t.Helper()
	var state toolspec.State
	v, err := r.env.QueryWorkflow(toolspec.StateName)
	if err == nil {
		err = v.Get(&state)
	}
	if err != nil {
		r.t.Error(err)
	}
	return state
}
