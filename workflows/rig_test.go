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

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/hooks"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/authz/authztest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/workflows"
)

const testPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["core__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}
`

// slowRetries leaves a minute between attempts: what is to come between them must not come before the first, however busy the machine.
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
	store   policies
	runs    atomic.Int64
	fail    func(run int) error
}

type rigOptions struct {
	policy string
	hooks  []hook.Hook
	fail   func(run int) error
	tools  []toolspec.Tool
	// results is a result cache that several rigs share; nil is an empty one.
	results *results
	// source stands before the registry, as a worker that lacks tools would.
	source func(activities.Source) activities.Source
	// engine authorizes; nil allows everything.
	engine authz.Port
}

func newRig(t *testing.T, o rigOptions) *rig {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(slogDiscard{})
	r := &rig{t: t, env: suite.NewTestWorkflowEnvironment(), fail: o.fail}
	patient(r.env, worker.Options{})
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
	all := append([]hook.Hook{hooks.Policy(store, o.engine, source, log)}, hooks.Redaction(source)...)
	if o.results == nil {
		o.results = &results{}
	}
	o.results.now = r.env.Now
	all = append(all, hooks.Features(store))
	all = append(all, hooks.Cache(store, source, o.results, log)...)
	registry, err := hook.NewRegistry(log, append(append(all, hooks.Audit()), o.hooks...), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.records = newRecords(p.Digest(), r.env.Now)
	r.records.results = o.results
	var found activities.Source = source
	if o.source != nil {
		found = o.source(source)
	}
	activities.New(found, r.records, store, registry, log, activities.Config{SearchAttributes: true, Submitters: vouching{}, Repairer: hydrate.Careful{}}).Register(r.env)
	r.env.RegisterWorkflowWithOptions(workflows.InvokeTool, workflow.RegisterOptions{Name: toolspec.WorkflowType})
	return r
}

// patient keeps a busy machine from being taken for a deadlock, a test that hangs or a step that is lost: local activities of two seconds
// and heartbeats are timed by a real clock here.
func patient(env *testsuite.TestWorkflowEnvironment, o worker.Options) {
	o.DeadlockDetectionTimeout = time.Minute
	o.Interceptors = []interceptor.WorkerInterceptor{&patience{}}
	env.SetWorkerOptions(o)
	env.SetTestTimeout(time.Minute)
}

// patience gives every local activity a minute, and every heartbeat.
type patience struct {
	interceptor.WorkerInterceptorBase
}

func (*patience) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &patientCall{interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

type patientCall struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (p *patientCall) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return p.Next.Init(&patientSteps{interceptor.WorkflowOutboundInterceptorBase{Next: out}})
}

type patientSteps struct {
	interceptor.WorkflowOutboundInterceptorBase
}

func (p *patientSteps) ExecuteLocalActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	o := workflow.GetLocalActivityOptions(ctx)
	o.StartToCloseTimeout = max(o.StartToCloseTimeout, time.Minute)
	return p.Next.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, o), name, args...)
}

func (p *patientSteps) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if o := workflow.GetActivityOptions(ctx); o.HeartbeatTimeout > 0 {
		ctx = workflow.WithHeartbeatTimeout(ctx, max(o.HeartbeatTimeout, time.Minute))
	}
	return p.Next.ExecuteActivity(ctx, name, args...)
}

// vouching believes every proof.
type vouching struct{}

func (vouching) Vouched(context.Context, activities.VouchRow) (keyID, fault string, err error) {
	return "key", "", nil
}

// ran is how often its tools ran. One that timed out may still be at it.
func (r *rig) ran() int { return int(r.runs.Load()) }

// tools are a read in the local lane, a read in the regular lane and two writes.
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

// activate makes another policy the current one.
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

// run executes the call to its end.
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

// decideAfter sends a decision as a signal after a time.
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

// stages lists the settled stages with their outcomes.
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

// state asks the call where it stands.
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
