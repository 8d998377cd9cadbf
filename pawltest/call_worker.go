package pawltest

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/activities/connection"
	"github.com/pawl-run/pawl/activities/heartbeat"
	"github.com/pawl-run/pawl/activities/hydrate"
	"github.com/pawl-run/pawl/activities/providers"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/broker/redact"
	"github.com/pawl-run/pawl/internal/clock"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/files"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/provide"
	"github.com/pawl-run/pawl/workflows/contract"
)

// callWorker has the parts of a worker, for one call.
type callWorker struct {
	t     testing.TB
	call  Call
	inv   toolspec.Invocation
	tools *catalog.Registry
	bound *catalog.Bound
	hooks *hook.Registry
	// live has the secrets of the connection.
	live      *fingerprint.Set
	providers providers.Providers
	hydrator  *hydrate.Hydrator
	attempts  *attempt.Attempts
	record    *record
	// log writes into book, without live secrets.
	log     *slog.Logger
	book    *devstacktest.Log
	reports *reports
}

// newCallWorker makes the parts of a worker with these hooks. It ends the test if a worker could not
// start with them.
func newCallWorker(t testing.TB, call Call, hooks []hook.Hook) *callWorker {
	t.Helper()
	call = call.withDefaults(t)
	b := &callWorker{t: t, call: call, inv: call.invocation(t), live: &fingerprint.Set{}, record: &record{}, book: &devstacktest.Log{}}
	b.reports = &reports{secrets: b.live}
	t.Cleanup(func() {
		if text := b.book.String(); t.Failed() && text != "" {
			t.Logf("the log of the call of %s:\n%s", b.inv.ToolID, text)
		}
	})
	b.log = slog.New(redact.Handler(slog.NewTextHandler(b.book, &slog.HandlerOptions{Level: slog.LevelDebug}), b.live))
	b.tools = registryOf(t, b.capabilities(), call.Tool)
	b.bound, _ = b.tools.Get(b.inv.ToolID)
	var err error
	if b.hooks, err = hook.NewRegistry(b.log, hooks, nil); err != nil {
		t.Fatalf("pawltest: %v", err)
	}
	registry, err := provide.NewRegistry(call.Providers...)
	if err != nil {
		t.Fatalf("pawltest: Providers: %v", err)
	}
	t.Cleanup(registry.Close)
	b.providers = providers.Providers{Registry: registry}
	b.hydrator = hydrate.New(hydrate.Parts{Tools: b.tools, Policies: noPolicy{}, Log: b.log})
	parts := attempt.Parts{
		Policies: noPolicy{},
		Store:    b.record, Tools: b.tools, Hooks: b.hooks, Providers: b.providers, Expired: func(contract.ExecuteIn) bool { return false },
		Secrets: b.live, Previews: b.previews(), Log: b.log,
	}
	if call.Connection != nil {
		parts.Leases = &connection.Leases{Broker: call.Connection.newBroker(t, b.call.Context, b.live), Policies: noPolicy{}}
	}
	b.attempts = attempt.New(parts)
	return b
}

// registryOf binds tools to capabilities, as a worker does.
func registryOf(t testing.TB, provided toolspec.Capabilities, tools ...toolspec.Tool) *catalog.Registry {
	t.Helper()
	registry := catalog.NewRegistry(provided)
	if err := registry.Add("worker", tools...); err != nil {
		t.Fatalf("pawltest: %v", err)
	}
	return registry
}

// capabilities returns the capabilities of a worker with a key ring, and the capabilities of the
// test.
func (b *callWorker) capabilities() toolspec.Capabilities {
	t, call := b.t, b.call
	t.Helper()
	dir := call.Workspace
	if dir == "" {
		dir = t.TempDir()
	}
	workspace, err := files.Open(dir)
	if err != nil {
		t.Fatalf("pawltest: Workspace: %v", err)
	}
	t.Cleanup(func() { _ = workspace.Close() })
	var now capability.Clock = clock.System{}
	if !call.Now.IsZero() {
		now = stopped{at: call.Now}
	}
	provided, err := toolspec.NewCapabilities(
		capability.FilesKey.Provide(workspace), capability.ClockKey.Provide(now), capability.ProgressKey.Provide(b.reports), capability.OutputsKey.Provide(noOutputs{}),
		capability.ClientsKey.Provide(broker.Outside{}), capability.AuthKey.Provide(broker.Outside{}),
	)
	if err != nil {
		t.Fatal(err)
	}
	return provided.With(call.Capabilities...)
}

// context returns the context of an activity in the workflow task of the call.
func (b *callWorker) context() context.Context {
	return contract.WithExecution(b.t.Context(), contract.Execution{RunID: "test", WorkflowID: b.inv.Identity().WorkflowID(), Local: true})
}

// hydrate parses and validates the arguments. f is the failure of arguments that are refused.
func (b *callWorker) hydrate() (facts hook.Facts, f *hook.Failure) {
	b.t.Helper()
	input, err := json.Marshal(b.inv)
	if err != nil { // the arguments are no JSON: they come as a text, as model providers send them
		quoted := b.inv
		if quoted.Args, err = json.Marshal(string(b.inv.Args)); err == nil {
			input, err = json.Marshal(quoted)
		}
	}
	if err != nil {
		b.t.Fatal(err)
	}
	facts = b.facts()
	out, err := b.hydrator.Hydrate(b.context(), contract.HydrateIn{
		InvocationID: facts.InvocationID, ToolID: facts.ToolID, PlanVersion: hook.PlanVersion, Input: input,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if out.Failure != nil {
		return facts, out.Failure
	}
	facts.Args, facts.SafeArgs, facts.ArgsHistory = out.Args, out.SafeArgs, []json.RawMessage{out.Args}
	facts.NoSchema = out.NoSchema
	return facts, nil
}

// deadline is the time until the deadline of a new call.
const deadline = 15 * time.Minute

// facts returns the facts of the call that every stage knows.
func (b *callWorker) facts() hook.Facts {
	at := b.call.Now
	if at.IsZero() {
		at = time.Now()
	}
	def := b.bound.Definition()
	f := hook.Facts{
		InvocationID: b.inv.Identity().InvocationID(), ToolID: b.inv.ToolID, ToolCallID: b.inv.ToolCallID, Context: b.call.Context,
		Effect: def.Effect, Risk: def.Risk, ScriptArg: def.ScriptArg, Discovered: b.bound.Discovered(), ToolDigest: b.bound.Digest(), Epoch: b.call.Epoch, Round: 1,
		Attempt: b.call.Attempt, Attempts: b.call.Attempt,
		StartedAtMs: at.UnixMilli(), NowMs: at.UnixMilli(), RemainingMs: deadline.Milliseconds(),
	}
	if n := b.call.Connection; n != nil {
		f.Connection = &hook.Connection{
			Requested: true, Generation: 1, Status: "active", Scopes: n.Scopes,
			Grants: []hook.ConnectionGrant{{Grantee: broker.Holder(b.call.Context), Scopes: n.Scopes}},
		}
	}
	return f
}

// attemptFacts returns the facts of an attempt, after every earlier stage.
func (b *callWorker) attemptFacts() (hook.Facts, *hook.Failure) {
	b.t.Helper()
	facts, refused := b.hydrate()
	if refused != nil {
		return facts, refused
	}
	if b.call.Connection != nil {
		marked, err := connection.Mark(b.context(), hook.StageInput{Stage: hook.WillInjectSecrets.Stage(), Facts: facts})
		if err != nil {
			b.t.Fatal(err)
		}
		facts.Data = append(facts.Data, marked.Delta.Data...)
	}
	if b.call.PreviewDigest != "" {
		facts.Approval = &hook.GrantedApproval{
			ApprovalID: toolspec.ApprovalID(facts.InvocationID, 1), Approver: "user:test", ToolDigest: facts.ToolDigest, Effect: facts.Effect, Risk: facts.Risk,
			PreviewDigest: b.call.PreviewDigest,
		}
	}
	if b.call.Facts != nil {
		b.call.Facts(&facts)
	}
	return facts, nil
}

// terms returns the terms of every attempt of the tool.
func (b *callWorker) terms() hook.Terms {
	def, id := b.bound.Definition(), b.inv.ToolID
	return hook.Terms{
		Around: b.hooks.Names(hook.AroundExecute.Stage(), id), WillExecute: b.hooks.Names(hook.WillExecute.Stage(), id),
		DidExecute: b.hooks.Names(hook.DidExecute.Stage(), id), Once: !def.Repeatable(),
		MaxRuntimeMs: def.Timeout.Milliseconds(), MaxResultBytes: def.MaxResultBytes,
	}
}

// stopped is a clock that always returns the same time.
type stopped struct {
	clock.System
	at time.Time
}

// Now returns the instant.
func (s stopped) Now() time.Time { return s.at }

// reports keeps the progress reports of a tool, as people see them.
type reports struct {
	heartbeat.Progress
	secrets *fingerprint.Set
	list    guarded[[]toolspec.Progress]
}

// Report implements capability.Progress.
func (r *reports) Report(ctx context.Context, p toolspec.Progress) {
	seen, latest, _ := heartbeat.Reporting(ctx, r.secrets)
	r.Progress.Report(seen, p)
	r.list.change(func(list []toolspec.Progress) []toolspec.Progress { return append(list, *latest.Load()) })
}
