package activities

import (
	"context"
	"log/slog"

	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/activities/answer"
	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/activities/capacity"
	"github.com/pawl-run/pawl/activities/connection"
	"github.com/pawl-run/pawl/activities/hydrate"
	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/output"
	"github.com/pawl-run/pawl/activities/preview"
	"github.com/pawl-run/pawl/activities/providers"
	"github.com/pawl-run/pawl/activities/settle"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	args "github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/provide"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Activities has everything that a call does outside of its workflow.
type Activities struct {
	*admit.Admitter
	*hydrate.Hydrator
	*stage.Runner
	*approval.Approvals
	*attempt.Attempts
	*answer.Accepter
	*settle.Settler

	keys    attempt.Keys
	secrets *fingerprint.Set
	log     *slog.Logger
	leave   func(workflowID, runID string)
}

// Records keeps invocations, approvals and results. Each write is one statement. It names the invocation and
// its epoch, and writes nothing if the record has another epoch, or if another Temporal run executes the call
// (contract.Executing). The result of the method says whether the statement has written. An error that a retry
// can correct is marked errs.Transient.
type Records interface {
	admit.Records
	approval.Requests
	attempt.Store
	answer.Store
	settle.Store
}

// Config has the settings of an operator.
type Config struct {
	// SearchAttributes says whether the workflows of new calls upsert search attributes. Set it only if the
	// namespace has all of them: without one of them, the workflow task of each new call fails forever.
	SearchAttributes bool
	// ConnectionKey is the key of an HMAC. Search attributes have the HMAC of the id of a connection in place of
	// the id. If the key is empty, search attributes name no connection.
	ConnectionKey []byte
	// Workers knows which tools other workers have. nil means that there are no other workers.
	Workers admit.Workers
	// Leave makes another worker continue a workflow. It is called if this worker lacks a part of the call, such
	// as its tool. It must not block. nil does nothing.
	Leave func(workflowID, runID string)
	// IsOff reports whether the operator turned a tool of this worker off. nil means that no tool is off.
	IsOff func(toolID string) bool
	// Providers are the factories for calls; nil provides nothing.
	Providers *provide.Registry
	// Sessions stores the bindings of sessions. It is required if Providers has factories.
	Sessions providers.Sessions
	// Submitters verifies the proof with which a submitter vouches for the subject of a call. If it is nil, no
	// proof is valid.
	Submitters admit.Submitters
	// Broker leases connections; nil leases none.
	Broker connection.Broker
	// IDTokens verifies the ID tokens of approvers. If it is nil, no token is valid.
	IDTokens approval.IDTokens
	// PolicyEngines returns the engine that gives the verdicts of a policy version. Give the gate the same value
	// (gate.Parts), so that approvals and attempts judge as the gate does. nil means Pawl's own engine.
	PolicyEngines policy.Engines
	// Repairer repairs arguments if policy allows it; nil repairs none.
	Repairer args.Repairer
	// Validators makes the validator of a tool; nil means the built-in validator.
	Validators func(toolspec.Spec) (args.Validator, error)
	// LocalTools is how many tools of one tenant may run at the same time inside workflow tasks, in the local and
	// the claimed lane together; 0 sets no bound.
	LocalTools int
	// Secrets are the live secrets. No answer of a tool or of a hook leaves with one of them. nil
	// means that there are no secrets.
	Secrets *fingerprint.Set
	// Keys signs permits and the answers of regular activities. It is needed.
	Keys attempt.Keys
	// Own has Pawl's own steps of the gate, of capacity and of the cache. A worker gives all of them. New adds the
	// other steps.
	Own stage.Table
	// SlotTimes remembers when the steps in Own asked for slots: give it the value that capacity.Limits got. nil
	// means new SlotTimes.
	SlotTimes *capacity.SlotTimes
}

// New makes the activities. All arguments are needed.
func New(source judge.Source, records Records, policies judge.Policies, hooks *hook.Registry, log *slog.Logger, config Config) *Activities {
	if config.SlotTimes == nil {
		config.SlotTimes = &capacity.SlotTimes{}
	}
	provided := providers.Providers{Registry: config.Providers, Sessions: config.Sessions}
	a := &Activities{keys: config.Keys, secrets: config.Secrets, log: log, leave: config.Leave}
	a.Hydrator = hydrate.New(hydrate.Parts{Tools: source, Policies: policies, Repairer: config.Repairer, Validators: config.Validators, Log: log})
	previews := &preview.Previews{Tools: source, Policies: policies, Providers: provided, Secrets: config.Secrets, Log: log}
	a.Approvals = approval.New(approval.Parts{
		Previews: previews, Requests: records, Policies: policies, PolicyEngines: config.PolicyEngines, Tools: source, IDTokens: config.IDTokens, Validate: a.CheckArgs, Log: log,
	})
	attempts := attempt.Parts{
		Store: records, Tools: source, Hooks: hooks, Keys: config.Keys, Policies: policies, PolicyEngines: config.PolicyEngines, Providers: provided, Expired: config.SlotTimes.Expired,
		LocalTools: config.LocalTools, Secrets: config.Secrets, Previews: previews, Log: log,
	}
	if config.Broker != nil {
		attempts.Leases = &connection.Leases{Broker: config.Broker, Policies: policies}
	}
	a.Attempts = attempt.New(attempts)
	own := stage.Join(ownSteps(config, a.Attempts, provided), a.Hydrator.Steps(hooks.Names))
	a.Runner = &stage.Runner{
		Own: own, Hooks: hooks, Providers: provided, Tools: source, Policies: policies, Records: records, Validate: a.CheckArgs,
		Outputs: &output.Deliverer{Store: records, Secrets: config.Secrets}, Log: log,
	}
	a.Admitter = &admit.Admitter{
		Records: records, Hooks: hooks, Own: own, Tools: source, Submitters: config.Submitters, ConnectionKey: config.ConnectionKey,
		SearchAttributes: config.SearchAttributes, Workers: config.Workers, IsOff: config.IsOff, Log: log,
	}
	a.Accepter = &answer.Accepter{Keys: config.Keys, Store: records, Log: log}
	a.Settler = &settle.Settler{Store: records, Forget: func(invocationID string) {
		config.SlotTimes.Forget(invocationID)
		provided.Forget(invocationID)
	}}
	return a
}

// ownSteps adds the steps that need parts of the Activities to the steps of the Config.
func ownSteps(config Config, attempts *attempt.Attempts, provided providers.Providers) stage.Table {
	own := stage.Join(config.Own, stage.Table{hook.WillAudit.Stage(): {Before: settle.Audit}})
	// Attempts.Permit needs the verdict of the gate.
	if consent := own[hook.WillCheckConsent.Stage()]; consent.Before != nil {
		consent.After = attempts.Permit
		own[hook.WillCheckConsent.Stage()] = consent
	}
	if provided.Registry != nil && provided.Sessions != nil {
		own[hook.WillBindProviders.Stage()] = stage.Own{
			Before: provided.Recall, Again: true, After: provided.Keep, Serves: func(string) bool { return provided.Registry.Binds() },
		}
	}
	if config.Broker != nil {
		own[hook.WillInjectSecrets.Stage()] = stage.Own{Before: connection.Mark}
	}
	return own
}

// Register binds the names of all activities, including all stages, because an open call may need
// any of them. Activities that run code of users are bound with bindSigned. Activities that may
// answer that this worker lacks a part, such as the tool, are wrapped with leaveIfMissing.
func (a *Activities) Register(r contract.Registry) {
	contract.Bind(r, contract.Admit, a.log, leaveIfMissing(a, a.Admit, func(out contract.AdmitOut) bool { return out.Outcome == contract.NotHere }))
	contract.Bind(r, contract.Locate, a.log, a.Locate)
	contract.Bind(r, contract.Hydrate, a.log, leaveIfMissing(a, a.Hydrate, func(out contract.HydrateOut) bool { return out.Outcome == contract.NotHere }))
	a.Approvals.Register(r)
	contract.Bind(r, contract.Accept, a.log, a.Accept)
	execute := leaveIfMissing(a, a.Execute, func(out contract.ExecuteOut) bool { return out.Outcome == contract.NotHere })
	bindSigned(a, r, contract.Execute, execute, answer.LostExecute)
	contract.Bind(r, contract.Check, a.log, a.Check)
	bindSigned(a, r, contract.Probe, a.Probe, answer.LostProbe)
	contract.Bind(r, contract.Settle, a.log, a.Settle)
	stage := leaveIfMissing(a, a.Stage, func(v hook.Verdict) bool { return v.Outcome == hook.Missing })
	for _, info := range hook.All() {
		bindSigned(a, r, contract.Stage(info.Stage), stage, answer.LostStage)
	}
}

// EndSwept runs the hooks of one closing stage of a call that the sweeper has settled, and removes live secrets
// from their verdict.
func (a *Activities) EndSwept(ctx context.Context, in hook.StageInput) (hook.Verdict, error) {
	return answer.Scrubbed(a.secrets, a.log, string(in.Stage), a.SweptStage, answer.LostStage)(ctx, in)
}

// leaveIfMissing returns f, followed by a call of Config.Leave if f ran as a local activity and its
// answer says that the worker lacks a part. Without Leave, the workflow stays with this worker and
// gets the same answer until its deadline. A regular activity needs no Leave, because it may run on
// any worker.
func leaveIfMissing[In, Out any](a *Activities, f func(context.Context, In) (Out, error), lacks func(Out) bool) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) {
		out, err := f(ctx, in)
		if e := contract.Executing(ctx); err == nil && e.Local && a.leave != nil && lacks(out) {
			a.leave(e.WorkflowID, e.RunID)
		}
		return out, err
	}
}

// bindSigned binds an activity that runs code of users. It removes live secrets from the answers of
// the activity, and signs them.
func bindSigned[In, Out any](a *Activities, r contract.Registry, activity contract.Activity[In, Out], f func(context.Context, In) (Out, error), lost func(Out) Out) {
	contract.BindSigned(r, activity, a.keys, a.log, answer.Scrubbed(a.secrets, a.log, activity.Name(), f, lost))
}
