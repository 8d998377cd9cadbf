package worker

import (
	"context"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/provide"
)

// Option adds to a worker: Tools, Hooks, ToolHooks, Capabilities, Providers,
// Authorizer, PolicyEngine, Notifier, Signers, KeyWrapper, Started, RoundTrips,
// Secret, Repairer, Validators.
type Option func(*additions)

type additions struct {
	tools         []toolspec.Tool
	hooks         []hook.Hook
	toolHooks     map[string][]hook.Hook
	capabilities  []toolspec.Provided
	providers     []provide.Option
	authorizers   []authz.Port
	policyEngines []policy.Engines
	notifiers     []notifying
	signers       []broker.Signer
	wrappers      []broker.KeyWrapper
	started       []func(*client.Client)
	roundTrips    func(context.Context)
	secrets       []fingerprint.Credential
	repairer      hydrate.Repairer
	validators    func(toolspec.Spec) (hydrate.Validator, error)
	faults
}

// Tools adds tools to the built-in ones. Being known does not make a tool
// allowed: policy says that.
func Tools(tools ...toolspec.Tool) Option {
	return func(a *additions) { a.tools = append(a.tools, tools...) }
}

// Hooks adds hooks for every tool.
func Hooks(hooks ...hook.Hook) Option {
	return func(a *additions) { a.hooks = append(a.hooks, hooks...) }
}

// ToolHooks adds hooks for one tool. Where this worker has no such tool, it says
// so in its log, for the hooks would never run.
func ToolHooks(toolID string, hooks ...hook.Hook) Option {
	return func(a *additions) {
		if a.toolHooks == nil {
			a.toolHooks = make(map[string][]hook.Hook)
		}
		a.toolHooks[toolID] = append(a.toolHooks[toolID], hooks...)
	}
}

// Capabilities provides what added tools declare beside clock and files.
func Capabilities(provided ...toolspec.Provided) Option {
	return func(a *additions) { a.capabilities = append(a.capabilities, provided...) }
}

// Providers says what calls are provided with: singletons, session providers, the
// factories that hooks may bind, and the capabilities of tools that a token backs.
func Providers(options ...provide.Option) Option {
	return func(a *additions) { a.providers = append(a.providers, options...) }
}

// Authorizer puts an authorization engine in the place of the built-in one. It is
// asked for every call that policy does not deny, of every tenant, whatever the
// tenant's policy says of permissions. All workers of a task queue need the same
// one. nil, or a second one, keeps the worker from starting.
func Authorizer(engine authz.Port) Option {
	return func(a *additions) { a.authorizers = append(a.authorizers, engine) }
}

// PolicyEngine replaces the decisions of policy versions: engines returns the engine that decides by
// a version, at the gate, for approval requests and for the shadow policy. Everything else in the
// document keeps its effect, such as roles, limits and features. All workers of a task queue need
// the same engine. nil, or a second one, keeps the worker from starting.
func PolicyEngine(engines policy.Engines) Option {
	return func(a *additions) { a.policyEngines = append(a.policyEngines, engines) }
}

// Notifier has tell told what becomes of approval requests: at least once each, after
// an error again for a day, later each time. A notice that comes again has the same id.
// tell has ten seconds and may be called by several goroutines. The name, of small
// letters, digits and -, is what the database knows it by.
func Notifier(name string, tell func(context.Context, toolspec.Notice) error) Option {
	return func(a *additions) { a.notifiers = append(a.notifiers, notifying{name, tell}) }
}

// Signers adds what signs requests of connections of the kind signed.
func Signers(signers ...broker.Signer) Option {
	return func(a *additions) { a.signers = append(a.signers, signers...) }
}

// KeyWrapper unwraps the key ring where a key of a KMS has wrapped it; the module
// github.com/pawl-run/pawl/kms has one. nil, or a second one, keeps the worker from
// starting, and so does a ring that it does not unwrap.
func KeyWrapper(w broker.KeyWrapper) Option {
	return func(a *additions) { a.wrappers = append(a.wrappers, w) }
}

// Started calls f once the worker takes work, with a client that shares its
// connection and starts eagerly: the first task of a call that it submits goes to
// this very worker, without a way through the server. f must not block.
func Started(f func(*client.Client)) Option {
	return func(a *additions) { a.started = append(a.started, f) }
}

// RoundTrips calls f before every round trip to the database, from many
// goroutines, to count them; ctx is an activity's where a call makes it, and
// none where the worker looks after itself.
func RoundTrips(f func(ctx context.Context)) Option {
	return func(a *additions) { a.roundTrips = f }
}

// Repairer puts another one in the place of the built-in [hydrate.Careful]: it
// mends arguments that cannot be used as they were sent, once per call and only
// for tools of which policy says so (`repair`). What it mends a person approves.
// nil mends nothing.
func Repairer(r hydrate.Repairer) Option {
	return func(a *additions) { a.repairer = r }
}

// Validators puts other validators of arguments in the place of the built-in one.
// compile is asked for each version of a tool that has a schema: when the worker
// starts, to publish the validator's name and version, and when the first call
// comes; where it fails then, the call does, as internal.
func Validators(compile func(toolspec.Spec) (hydrate.Validator, error)) Option {
	return func(a *additions) { a.validators = compile }
}

// Secret names a secret that this worker's own tools or hooks hold, such as a
// token of the environment: it is taken out of log records, results, errors and
// reports, in whatever form it is written. label names it and may be shown. A
// secret of fewer than 8 bytes, or of fewer than 4 different ones, cannot be told
// from other text and keeps the worker from starting. Secrets of connections need
// no naming.
func Secret(label string, secret []byte) Option {
	return func(a *additions) {
		a.secrets = append(a.secrets, fingerprint.Credential{Label: label, Secret: secret})
	}
}

func added(options []Option) additions {
	a := additions{repairer: hydrate.Careful{}}
	for _, option := range options {
		option(&a)
	}
	return a
}
