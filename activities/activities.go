package activities

import (
	"log/slog"
	"sync"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/provide"
	"github.com/pawl-run/pawl/workflows"
)

// Activities is everything a call does outside of the workflow.
type Activities struct {
	source   Source
	records  Records
	policies Policies
	hooks    *hook.Registry
	log      *slog.Logger
	config   Config
	places   places
	// validators are those of Config.Validators, by the digest of their tool.
	validators sync.Map
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
	IDTokens IDTokens
	// Shadow returns the policy that is tried out, nil for none; it may be nil.
	Shadow func() *policy.Policy
	// Repairer mends arguments where policy lets it; nil mends none.
	Repairer hydrate.Repairer
	// Validators make the validator of a tool in the place of the built-in one; nil
	// is that.
	Validators func(toolspec.Spec) (hydrate.Validator, error)
	// Secrets are those that are alive: they leave with no answer of a tool or of a
	// hook. nil knows none.
	Secrets *fingerprint.Set
}

// New makes the activities. All arguments are needed.
func New(source Source, records Records, policies Policies, hooks *hook.Registry, log *slog.Logger, config Config) *Activities {
	return &Activities{source: source, records: records, policies: policies, hooks: hooks, log: log, config: config}
}

// Register binds every activity name, the 32 stages among them: a call in flight
// may need any of them.
func (a *Activities) Register(r workflows.Registry) {
	workflows.Bind(r, workflows.Admit, a.log, a.Admit)
	workflows.Bind(r, workflows.Hydrate, a.log, a.Hydrate)
	workflows.Bind(r, workflows.Request, a.log, a.Request)
	workflows.Bind(r, workflows.Review, a.log, a.Review)
	workflows.Bind(r, workflows.Execute, a.log, scrubbed(a.config.Secrets, a.log, workflows.Execute.Name(), a.Execute, lostExecute))
	workflows.Bind(r, workflows.Check, a.log, a.Check)
	workflows.Bind(r, workflows.Probe, a.log, scrubbed(a.config.Secrets, a.log, workflows.Probe.Name(), a.Probe, lostProbe))
	workflows.Bind(r, workflows.Settle, a.log, a.Settle)
	for _, info := range hook.All() {
		workflows.Bind(r, workflows.Stage(info.Stage), a.log, scrubbed(a.config.Secrets, a.log, string(info.Stage), a.Stage, lostStage))
	}
}
