package provide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/pawl-run/pawl/toolspec"
)

// Token is the typed name of something that is provided.
type Token[T any] struct{ id string }

// NewToken returns a token. Calls record the id: do not change it. The id has 1–64 characters of
// a-z, 0-9, '-' and '.', and begins with a letter; NewRegistry checks that.
func NewToken[T any](id string) Token[T] { return Token[T]{id: id} }

// ID returns the name.
func (t Token[T]) ID() string { return t.id }

func (t Token[T]) check() error {
	if !names.MatchString(t.id) {
		return fmt.Errorf("token %q: %w", t.id, errName)
	}
	return nil
}

// Scope is the set of calls for which a binding applies.
type Scope string

// The scopes, in the order of lookup.
const (
	// Request is one call.
	Request Scope = "request"
	// Session is all calls with the same tenant and sessionId.
	Session Scope = "session"
	// Global is all calls of a worker. Calls cannot bind in it.
	Global Scope = "global"
)

// MaxArgs bounds the arguments of a recipe, in bytes of JSON.
const MaxArgs = 4 << 10

// Recipe describes how to create an instance: the factory and its arguments. The zero value is no
// recipe.
type Recipe struct {
	Token   string          `json:"token"`
	Factory string          `json:"factory"`
	Args    json.RawMessage `json:"args,omitempty"`
}

// Binding is a recipe in a scope.
type Binding struct {
	Scope Scope `json:"scope"`
	Recipe
	// Version counts the bindings of a token in a session. It is 0 before the binding is stored.
	Version int64 `json:"version,omitempty"`
}

// Factory creates instances for a token from JSON arguments.
type Factory[T, A any] struct {
	id    string
	token Token[T]
	make  func(ctx context.Context, args A) (T, error)
}

// NewFactory returns a factory. Calls record the id: do not change it. It has the form of a token
// id. Instances are not closed, so they must need no cleanup. make may fail; errs.Transient marks
// an error that passes by itself.
func NewFactory[T, A any](id string, token Token[T], make func(ctx context.Context, args A) (T, error)) Factory[T, A] {
	return Factory[T, A]{id: id, token: token, make: make}
}

// With returns the recipe for an instance with these arguments. It returns an error if the
// arguments cannot be written as JSON, are larger than MaxArgs, or contain text that looks like a
// secret.
func (f Factory[T, A]) With(args A) (Recipe, error) {
	encoded, err := json.Marshal(args)
	if err != nil {
		return Recipe{}, fmt.Errorf("factory %s: the arguments cannot be written as JSON", f.id)
	}
	r := Recipe{Token: f.token.id, Factory: f.id, Args: encoded}
	return r, r.Check()
}

// Check returns an error for an invalid recipe. The error does not contain the arguments.
func (r Recipe) Check() error {
	switch {
	case !names.MatchString(r.Token):
		return fmt.Errorf("token %q: %w", r.Token, errName)
	case !names.MatchString(r.Factory):
		return fmt.Errorf("factory %q: %w", r.Factory, errName)
	case len(r.Args) > MaxArgs:
		return fmt.Errorf("the arguments of factory %s are larger than %d bytes", r.Factory, MaxArgs)
	case len(r.Args) > 0 && toolspec.SecretJSON(r.Args):
		return fmt.Errorf("the arguments of factory %s have the shape of a secret: they would be recorded", r.Factory)
	}
	return nil
}

var errName = errors.New("the id must be 1–64 of a-z, 0-9, '-' and '.', beginning with a letter")

var names = regexp.MustCompile(`^[a-z][a-z0-9.-]{0,63}$`)

// erased is a factory without its types.
type erased struct {
	id, token string
	make      func(ctx context.Context, args json.RawMessage) (any, error)
}

func (f Factory[T, A]) erased() erased {
	return erased{id: f.id, token: f.token.id, make: func(ctx context.Context, raw json.RawMessage) (any, error) {
		var args A
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, &args); err != nil {
				return nil, fmt.Errorf("factory %s does not understand the arguments of its recipe", f.id)
			}
		}
		return f.make(ctx, args)
	}}
}
