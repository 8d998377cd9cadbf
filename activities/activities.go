package activities

import (
	"log/slog"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/activities/capacity"
	"github.com/pawl-run/pawl/activities/hydrate"
	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	args "github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/provide"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Activities is everything a call does outside of the workflow.
type Activities struct {
	*hydrate.Hydrator
	*approval.Approvals
	source   judge.Source
	records  Records
	policies judge.Policies
	hooks    *hook.Registry
	log      *slog.Logger
	config   Config
	own      stage.Table
	// processors and lane leave room for other calls.
	processors processors
	lane       *lane
}

// Config is what an operator may set.
type Config struct {
	// SearchAttributes says whether new calls upsert search attributes. An upsert
	// of one that the namespace does not know fails the workflow task forever.
	SearchAttributes bool
	// ConnectionKey keys the hash by which search attributes name a connection;
	// without it they do not.
	ConnectionKey []byte
	// Providers are what calls are provided with; nil provides nothing.
	Providers *provide.Registry
	// Sessions keep what is bound for sessions; needed with Providers that bind.
	Sessions Sessions
	// Submitters verify who vouches for a subject; without them nobody does.
	Submitters Submitters
	// Broker leases connections; nil leases none.
	Broker Broker
	// IDTokens verify the ID tokens of approvers; without them none counts.
	IDTokens approval.IDTokens
	// Repairer mends arguments where policy lets it; nil mends none.
	Repairer args.Repairer
	// Validators make the validator of a tool in the place of the built-in one; nil
	// is that.
	Validators func(toolspec.Spec) (args.Validator, error)
	// LocalTools is how many tools of one tenant run at once in the local lane; 0
	// sets no bound.
	LocalTools int
	// Secrets are those that are alive: they leave with no answer of a tool or of a
	// hook. nil knows none.
	Secrets *fingerprint.Set
	// Keys sign permits and the answers of regular activities. They are needed.
	Keys Keys
	// Own are the steps of the gate, of capacity and of the cache. A worker has them all;
	// the Activities add the rest of Pawl's own steps.
	Own stage.Table
	// Places are those of Own; nil are new ones.
	Places *capacity.Places
}

// New makes the activities. All arguments are needed.
func New(source judge.Source, records Records, policies judge.Policies, hooks *hook.Registry, log *slog.Logger, config Config) *Activities {
	a := &Activities{
		source: source, records: records, policies: policies, hooks: hooks, log: log, config: config,
		processors: newProcessors(), lane: newLane(config.LocalTools),
	}
	a.Hydrator = hydrate.New(hydrate.Parts{Tools: source, Policies: policies, Repairer: config.Repairer, Validators: config.Validators, Log: log})
	a.Approvals = approval.New(approval.Parts{
		Requests: records, Policies: policies, Tools: source, IDTokens: config.IDTokens, Validate: a.Hydrator.CheckArgs, Log: log,
	})
	if a.config.Places == nil {
		a.config.Places = &capacity.Places{}
	}
	a.own = a.ownSteps()
	return a
}

// ownSteps adds the steps that need the Activities to those of the Config.
func (a *Activities) ownSteps() stage.Table {
	own := stage.Join(a.config.Own, stage.Table{hook.WillAudit.Stage(): {Before: audit}})
	// Without the gate there is no permit.
	if consent := own[hook.WillCheckConsent.Stage()]; consent.Before != nil {
		consent.After = a.permit
		own[hook.WillCheckConsent.Stage()] = consent
	}
	if p := a.config.Providers; p != nil && a.config.Sessions != nil {
		own[hook.WillBindProviders.Stage()] = stage.Own{Before: a.recall, Again: true, After: a.keep, Serves: func(string) bool { return p.Binds() }}
	}
	if a.config.Broker != nil {
		own[hook.WillInjectSecrets.Stage()] = stage.Own{Before: markConnection}
	}
	return own
}

// Register binds every activity name, the 32 stages among them: a call in flight
// may need any of them.
func (a *Activities) Register(r contract.Registry) {
	contract.Bind(r, contract.Admit, a.log, a.Admit)
	a.Hydrator.Register(r)
	a.Approvals.Register(r)
	contract.Bind(r, contract.Accept, a.log, a.Accept)
	contract.BindSigned(r, contract.Execute, a.config.Keys, a.log, scrubbed(a.config.Secrets, a.log, contract.Execute.Name(), a.Execute, lostExecute))
	contract.Bind(r, contract.Check, a.log, a.Check)
	contract.BindSigned(r, contract.Probe, a.config.Keys, a.log, scrubbed(a.config.Secrets, a.log, contract.Probe.Name(), a.Probe, lostProbe))
	contract.Bind(r, contract.Settle, a.log, a.Settle)
	for _, info := range hook.All() {
		contract.BindSigned(r, contract.Stage(info.Stage), a.config.Keys, a.log, scrubbed(a.config.Secrets, a.log, string(info.Stage), a.Stage, lostStage))
	}
}
