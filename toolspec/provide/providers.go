package provide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/internal/lru"
	"github.com/pawl-run/pawl/toolspec"
)

// SessionKey identifies a session. Without a SessionID there is no session.
type SessionKey struct{ TenantID, SessionID string }

// keptRecipes bounds the instances that are kept for one call.
const keptRecipes = 64

// Providers provides the instances of one call in this process. It is safe for concurrent use. A
// nil Providers provides nothing.
type Providers struct {
	registry   *Registry
	invocation string
	session    SessionKey
	bindings   []Binding
}

// For returns the providers of a call with these bindings. If two bindings have the same token and
// scope, the later one applies.
func (r *Registry) For(invocationID string, session SessionKey, bindings []Binding) *Providers {
	return &Providers{registry: r, invocation: invocationID, session: session, bindings: bindings}
}

// With returns the providers with additional bindings, which take precedence over the existing
// ones.
func (p *Providers) With(bindings []Binding) *Providers {
	if p == nil || len(bindings) == 0 {
		return p
	}
	q := *p
	q.bindings = append(slices.Clone(p.bindings), bindings...)
	return &q
}

// Vary reports whether the call or its session has instances of its own. The value of a tool may
// then differ from the value in other calls.
func (p *Providers) Vary() bool {
	return p != nil && (len(p.bindings) > 0 || len(p.registry.sessions) > 0 && p.session.SessionID != "")
}

// only returns the providers of a scope and of the wider scopes. An instance that many calls share
// must not use a binding of one of them.
func (p *Providers) only(s Scope) *Providers {
	q := &Providers{registry: p.registry}
	if s == Session {
		q.session = p.session
		for _, b := range p.bindings {
			if b.Scope == Session {
				q.bindings = append(q.bindings, b)
			}
		}
	}
	return q
}

// makeTime bounds the creation of an instance that many calls share. The deadline of one call must
// not bound it.
const makeTime = time.Minute

// shared creates an instance that outlives the call that asked for it first.
func (p *Providers) shared(ctx context.Context, s Scope, l *lazy) (any, bool, error) {
	v, err := l.get(ctx, func(make func(context.Context) (any, error)) (any, error) {
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), makeTime)
		defer cancel()
		return make(NewContext(own, p.only(s)))
	})
	return v, err == nil, err
}

type contextKey struct{}

// NewContext returns a context with the providers of a call.
func NewContext(ctx context.Context, p *Providers) context.Context {
	if p == nil {
		return ctx
	}
	return context.WithValue(ctx, contextKey{}, p)
}

// FromContext returns the providers of the call, or nil.
func FromContext(ctx context.Context) *Providers {
	p, _ := ctx.Value(contextKey{}).(*Providers)
	return p
}

// ErrUnbound is the error of Get if nothing is provided for the token.
var ErrUnbound = errors.New("nothing is provided for the token")

// Get returns the instance for a token: the instance bound for the call, otherwise for its session,
// otherwise for the worker. The error is ErrUnbound if there is none, or the error of the factory.
// Within a call and a process, the same recipe gives the same instance.
func Get[T any](ctx context.Context, p *Providers, token Token[T]) (T, error) {
	v, ok, err := TryGet(ctx, p, token)
	if err == nil && !ok {
		err = fmt.Errorf("%w %q", ErrUnbound, token.id)
	}
	return v, err
}

// TryGet is Get for an optional token: ok is false if nothing is provided.
func TryGet[T any](ctx context.Context, p *Providers, token Token[T]) (v T, ok bool, err error) {
	found, ok, err := p.find(ctx, token.id)
	if err != nil || !ok {
		return v, false, err
	}
	v, fits := found.(T)
	if !fits {
		return v, false, fmt.Errorf("what is provided for token %q is a %T", token.id, found)
	}
	return v, true, nil
}

func (p *Providers) find(ctx context.Context, token string) (any, bool, error) {
	if p == nil {
		return nil, false, nil
	}
	if v, ok := p.registry.overrides[token]; ok {
		return v, true, nil
	}
	if b, ok := p.bound(Request, token); ok {
		of := p.registry.calls.GetOrAdd(p.invocation, func() *lru.Cache[string, *lazy] { return lru.New[string, *lazy](keptRecipes, nil) })
		l, err := p.made(of, recipeKey(b.Recipe), b.Recipe)
		if err != nil {
			return nil, false, err
		}
		v, err := l.get(ctx, func(make func(context.Context) (any, error)) (any, error) { return make(NewContext(ctx, p)) })
		return v, err == nil, err
	}
	if b, ok := p.bound(Session, token); ok {
		l, err := p.made(p.registry.instances, p.sessionKey(token, b.Version, recipeKey(b.Recipe)), b.Recipe)
		if err != nil {
			return nil, false, err
		}
		return p.shared(ctx, Session, l)
	}
	if create, ok := p.registry.sessions[token]; ok && p.session.SessionID != "" {
		l := p.registry.instances.GetOrAdd(p.sessionKey(token, 0, ""), func() *lazy {
			return newLazy(func(ctx context.Context) (any, error) { return create(ctx, p.session) })
		})
		return p.shared(ctx, Session, l)
	}
	if l, ok := p.registry.globals[token]; ok {
		return p.shared(ctx, Global, l)
	}
	return nil, false, nil
}

// bound returns the binding that applies to a token in a scope.
func (p *Providers) bound(s Scope, token string) (found Binding, ok bool) {
	for _, b := range p.bindings {
		if b.Scope == s && b.Token == token {
			found, ok = b, true
		}
	}
	return found, ok
}

func (p *Providers) made(in *lru.Cache[string, *lazy], key string, r Recipe) (*lazy, error) {
	f, ok := p.registry.factories[r.Factory]
	if !ok || f.token != r.Token {
		return nil, fmt.Errorf("this worker has no factory %q for token %q", r.Factory, r.Token)
	}
	return in.GetOrAdd(key, func() *lazy {
		return newLazy(func(ctx context.Context) (any, error) { return f.make(ctx, r.Args) })
	}), nil
}

// Capabilities returns the declared capabilities that a token backs and for which an instance is
// provided. They replace the capabilities that the worker provides to all calls.
func (p *Providers) Capabilities(ctx context.Context, declared []toolspec.CapabilityName) ([]toolspec.Provided, error) {
	if p == nil || len(p.registry.backs) == 0 {
		return nil, nil
	}
	var given []toolspec.Provided
	for _, name := range declared {
		b, backed := p.registry.backs[name]
		if !backed {
			continue
		}
		v, ok, err := p.find(ctx, b.token)
		if err != nil {
			return nil, fmt.Errorf("capability %q: %w", name, err)
		}
		if ok {
			one, err := b.give(v)
			if err != nil {
				return nil, fmt.Errorf("capability %q: %w", name, err)
			}
			given = append(given, one)
		}
	}
	return given, nil
}

func recipeKey(r Recipe) string { return key(r.Factory, string(r.Args)) }

func (p *Providers) sessionKey(token string, version int64, recipe string) string {
	return key(p.session.TenantID, p.session.SessionID, token, version, recipe)
}

// key joins parts into a text that is different for every list.
func key(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		panic("provide: texts and numbers cannot be written as JSON: " + err.Error())
	}
	return string(text)
}
