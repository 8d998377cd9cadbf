package provide

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/internal/lru"
	"github.com/pawl-run/pawl/toolspec"
)

const (
	// keptCalls and keptSessions bound the call instances and session instances that a process
	// keeps. The least recently used instance is dropped first, and created again when it is
	// needed.
	keptCalls    = 1024
	keptSessions = 1024
)

// Option configures a registry: Factories, Singleton, SingletonFunc, PerSession, Override, Backs.
type Option func(*Registry) error

// Registry holds what a worker provides. It does not change after NewRegistry.
type Registry struct {
	factories map[string]erased
	globals   map[string]*lazy
	sessions  map[string]func(ctx context.Context, s SessionKey) (any, error)
	overrides map[string]any
	backs     map[toolspec.CapabilityName]backing
	calls     *lru.Cache[string, *lru.Cache[string, *lazy]]
	instances *lru.Cache[string, *lazy]
}

// backing makes the value of a capability from an instance of a token.
type backing struct {
	token string
	give  func(instance any) (toolspec.Provided, error)
}

// NewRegistry returns a registry with the options.
func NewRegistry(options ...Option) (*Registry, error) {
	r := &Registry{
		factories: map[string]erased{}, globals: map[string]*lazy{}, sessions: map[string]func(context.Context, SessionKey) (any, error){}, overrides: map[string]any{},
		backs: map[toolspec.CapabilityName]backing{}, calls: lru.New[string, *lru.Cache[string, *lazy]](keptCalls, nil), instances: lru.New[string, *lazy](keptSessions, nil),
	}
	for _, o := range options {
		if err := o(r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Close closes the singletons that a function created and that are io.Closers. Other instances are
// dropped when they are not needed, and not closed, because a call may still use them.
func (r *Registry) Close() {
	for _, g := range r.globals {
		g.close()
	}
}

// Forget drops the instances of a settled call.
func (r *Registry) Forget(invocationID string) { r.calls.Remove(invocationID) }

// Binds reports whether calls can bind recipes: whether the registry has factories.
func (r *Registry) Binds() bool { return len(r.factories) > 0 }

// Lacks returns a factory that the bindings need and the registry does not have.
func (r *Registry) Lacks(bindings []Binding) (factory string, lacks bool) {
	for _, b := range bindings {
		if f, ok := r.factories[b.Factory]; !ok || f.token != b.Token {
			return b.Factory, true
		}
	}
	return "", false
}

// FactoryOf is a factory of any types.
type FactoryOf interface{ erased() erased }

// Factories lets hooks bind recipes of these factories.
func Factories(factories ...FactoryOf) Option {
	return func(r *Registry) error {
		for _, f := range factories {
			e := f.erased()
			if err := (Recipe{Token: e.token, Factory: e.id}).Check(); err != nil {
				return fmt.Errorf("factory %q: %w", e.id, err)
			}
			if _, taken := r.factories[e.id]; taken {
				return fmt.Errorf("factory %q is registered twice; ids are recorded in calls and must be unique", e.id)
			}
			r.factories[e.id] = e
		}
		return nil
	}
}

// Singleton provides one instance to all calls of the worker.
func Singleton[T any](token Token[T], instance T) Option {
	return singleton(token, given(instance))
}

// SingletonFunc is Singleton with an instance that make creates once, when it is first needed.
// After an error, the next request calls make again.
func SingletonFunc[T any](token Token[T], make func(ctx context.Context) (T, error)) Option {
	l := newLazy(func(ctx context.Context) (any, error) { return make(ctx) })
	l.owned = true
	return singleton(token, l)
}

func singleton[T any](token Token[T], instance *lazy) Option {
	return func(r *Registry) error {
		if _, taken := r.globals[token.id]; taken {
			return fmt.Errorf("token %q has two global providers", token.id)
		}
		r.globals[token.id] = instance
		return token.check()
	}
}

// PerSession provides an instance per session, which make creates when it is first needed. A
// binding of a hook takes precedence.
func PerSession[T any](token Token[T], make func(ctx context.Context, s SessionKey) (T, error)) Option {
	return func(r *Registry) error {
		if _, taken := r.sessions[token.id]; taken {
			return fmt.Errorf("token %q has two session providers", token.id)
		}
		r.sessions[token.id] = func(ctx context.Context, s SessionKey) (any, error) { return make(ctx, s) }
		return token.check()
	}
}

// Override provides the instance to every request for the token with this id, whatever is bound.
// Factories and singletons of the token are never called. It is for tests and for operators.
func Override[T any](token Token[T], instance T) Option {
	return func(r *Registry) error {
		r.overrides[token.id] = instance
		return nil
	}
}

// Backs gives tools that declare the capability the instance provided for the token. If none is
// provided, they get the capability that the worker provides to all.
func Backs[T any](token Token[T], c toolspec.Capability[T]) Option {
	return func(r *Registry) error {
		if _, taken := r.backs[c.Name()]; taken {
			return fmt.Errorf("capability %q is backed by two tokens", c.Name())
		}
		r.backs[c.Name()] = backing{token: token.id, give: func(instance any) (toolspec.Provided, error) {
			v, ok := instance.(T)
			if !ok {
				return toolspec.Provided{}, fmt.Errorf("what is provided for token %q is a %T", token.id, instance)
			}
			return c.Provide(v), nil
		}}
		return nil
	}
}
