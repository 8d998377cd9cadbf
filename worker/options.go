package worker

import (
	"context"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/mcp"
	"github.com/pawl-run/pawl/internal/remote"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/provide"
	"github.com/pawl-run/pawl/toolspec/source"
)

// Option configures a worker: Tools, Sources, Hooks, ToolHooks, Capabilities, Providers, Authorizer,
// PolicyEngine, Notifier, Signers, KeyWrapper, Started, RoundTrips, Secret, Repairer, Validators.
type Option func(*additions)

type additions struct {
	tools      []toolspec.Tool
	sources    []source.Source
	mcpServers []mcp.Server
	// remoteKeys are the keys of PAWL_REMOTE_KEYS.
	remoteKeys remote.Keys
	// configured are the sources that the configuration names.
	configured    []source.Source
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

// Tools adds tools to the built-in tools. Policy must also allow the added tools.
func Tools(tools ...toolspec.Tool) Option {
	return func(a *additions) { a.tools = append(a.tools, tools...) }
}

// Hooks adds hooks that run for every tool.
func Hooks(hooks ...hook.Hook) Option {
	return func(a *additions) { a.hooks = append(a.hooks, hooks...) }
}

// ToolHooks adds hooks that run for one tool. If the worker does not have the tool, it logs a warning, because
// the hooks never run. With [Sources] the log entry is no warning, because a source may add the tool later.
func ToolHooks(toolID string, hooks ...hook.Hook) Option {
	return func(a *additions) {
		if a.toolHooks == nil {
			a.toolHooks = make(map[string][]hook.Hook)
		}
		a.toolHooks[toolID] = append(a.toolHooks[toolID], hooks...)
	}
}

// Capabilities provides the capabilities that the added tools declare. The worker provides the built-in
// capabilities itself, such as clock and files.
func Capabilities(provided ...toolspec.Provided) Option {
	return func(a *additions) { a.capabilities = append(a.capabilities, provided...) }
}

// Providers adds providers for calls: singletons, providers of sessions, the factories that hooks
// may bind, and the capabilities of tools that a provider backs.
func Providers(options ...provide.Option) Option {
	return func(a *additions) { a.providers = append(a.providers, options...) }
}

// Authorizer replaces the built-in authorization engine. The worker asks the engine about every
// call that policy does not deny, in all tenants, also if the policy of the tenant has
// `permissions: policy`. All workers of a task queue need the same engine. A nil engine or a
// second engine is an error at start.
func Authorizer(engine authz.Port) Option {
	return func(a *additions) { a.authorizers = append(a.authorizers, engine) }
}

// PolicyEngine replaces the decisions of policy versions. engines returns the engine that decides
// in the name of a version: at the gate, for approval requests and for the shadow policy. All
// other parts of the policy keep their effect, such as roles, limits and features. All workers of
// a task queue need the same engine. A nil engines or a second PolicyEngine is an error at start.
func PolicyEngine(engines policy.Engines) Option {
	return func(a *additions) { a.policyEngines = append(a.policyEngines, engines) }
}

// Notifier calls notify with each notice about an approval request, at least once. If notify returns
// an error, the worker calls it again for a day, with growing pauses; the repeated notice has the
// same id. Each call of notify has ten seconds. Several goroutines may call it at the same time.
// name has lower-case letters, digits and -. The database identifies the notifier by its name.
func Notifier(name string, notify func(context.Context, toolspec.Notice) error) Option {
	return func(a *additions) { a.notifiers = append(a.notifiers, notifying{name, notify}) }
}

// Signers adds signers for the requests of connections whose provider has the kind signed. The
// provider names its signer.
func Signers(signers ...broker.Signer) Option {
	return func(a *additions) { a.signers = append(a.signers, signers...) }
}

// KeyWrapper sets the wrapper that decrypts a key ring. A key of a KMS has encrypted such a ring.
// The module github.com/pawl-run/pawl/kms has implementations. A nil wrapper, a second wrapper, or
// a ring that the wrapper cannot decrypt is an error at start.
func KeyWrapper(w broker.KeyWrapper) Option {
	return func(a *additions) { a.wrappers = append(a.wrappers, w) }
}

// Wrapper returns the wrapper that KeyWrapper sets, or nil. Commands that read key rings need it.
func Wrapper(options ...Option) broker.KeyWrapper {
	if a := added(options); len(a.wrappers) == 1 {
		return a.wrappers[0]
	}
	return nil
}

// Started calls f when the worker has started. The client shares the connection of the worker and
// starts calls eagerly: the first workflow task of a call that it submits goes directly to this
// worker, without a round trip through the server. f must not block.
func Started(f func(*client.Client)) Option {
	return func(a *additions) { a.started = append(a.started, f) }
}

// RoundTrips calls f before every round trip to the database, from many goroutines, for example to count them. ctx is
// the context of the activity that makes the round trip. For a round trip of the worker's own maintenance, ctx is not
// of an activity.
func RoundTrips(f func(ctx context.Context)) Option {
	return func(a *additions) { a.roundTrips = f }
}

// Repairer replaces the built-in repairer [hydrate.Careful]. It repairs arguments that are not
// valid as they were sent, at most once per call, and only for tools for which policy allows it
// (`repair`). A person must approve repaired arguments. nil turns repairs off.
func Repairer(r hydrate.Repairer) Option {
	return func(a *additions) { a.repairer = r }
}

// Validators replaces the built-in validators of arguments. compile is called for each version of a
// tool that has a schema: when the worker starts, to publish the name and the version of the
// validator, and at the first call. If compile fails at a call, the call ends with the code
// internal.
func Validators(compile func(toolspec.Spec) (hydrate.Validator, error)) Option {
	return func(a *additions) { a.validators = compile }
}

// Secret declares a secret that the tools or hooks of this worker hold, such as a token from the
// environment. The worker removes it from log records, results, errors and reports, also in encoded
// form. label is the name of the secret and may be shown. A secret of fewer than 8 bytes, or of
// fewer than 4 different bytes, is an error at start. Secrets of connections need no declaration.
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
