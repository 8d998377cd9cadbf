package hook_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/provide"
)

// TestBind: recipes are recorded in the order in which they are bound. A later recipe replaces an earlier recipe of the same token and scope. A
// recipe that would change a worker or record a secret fails the call (DI-02 to DI-05).
func TestBind(t *testing.T) {
	a, b := provide.Recipe{Token: "a", Factory: "f", Args: raw(`1`)}, provide.Recipe{Token: "b", Factory: "f"}
	in := func(s provide.Scope, r provide.Recipe) hook.Binding { return hook.Binding{Scope: s, Recipe: r} }
	bind := func(f func(v *hook.Binder)) hook.Hook {
		return hook.New("h", hook.WillBindProviders.Do(func(_ context.Context, v *hook.Binder) error { f(v); return nil }))
	}
	returned := func(v any, err error) hook.Hook {
		return hook.New("h", hook.BindsReturned(func(context.Context, *hook.Binder) (any, error) { return v, err }))
	}
	for _, tc := range []struct {
		name    string
		hook    hook.Hook
		session string
		want    []hook.Binding
		fails   bool
	}{
		{"for the call", bind(func(v *hook.Binder) { v.Bind(a, b) }), "", []hook.Binding{in(provide.Request, a), in(provide.Request, b)}, false},
		{"for the session", bind(func(v *hook.Binder) { v.BindIn(provide.Session, a) }), "s1", []hook.Binding{in(provide.Session, a)}, false},
		{"twice", bind(func(v *hook.Binder) { v.Bind(b, a); v.Bind(provide.Recipe{Token: "b", Factory: "g"}) }), "",
			[]hook.Binding{in(provide.Request, a), in(provide.Request, provide.Recipe{Token: "b", Factory: "g"})}, false},
		{"in both", bind(func(v *hook.Binder) { v.Bind(a); v.BindIn(provide.Session, a) }), "s1", []hook.Binding{in(provide.Request, a), in(provide.Session, a)}, false},
		{"globally", bind(func(v *hook.Binder) { v.BindIn(provide.Global, a) }), "s1", nil, true},
		{"nowhere", bind(func(v *hook.Binder) { v.BindIn("moon", a) }), "s1", nil, true},
		{"for a session that is not", bind(func(v *hook.Binder) { v.BindIn(provide.Session, a) }), "", nil, true},
		{"a secret", bind(func(v *hook.Binder) {
			v.Bind(provide.Recipe{Token: "a", Factory: "f", Args: raw(`{"password":"x"}`)})
		}), "", nil, true},
		{"returned", returned(map[string]provide.Recipe{"b": b, "a": a}, nil), "", []hook.Binding{in(provide.Request, a), in(provide.Request, b)}, false},
		{"returned nonsense", returned(7, nil), "", nil, true},
		{"returned an error", returned(nil, errors.New("no")), "", nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := facts()
			f.Context.SessionID = tc.session
			r, log := registry(t, tc.hook)
			v, err := r.Run(t.Context(), hook.StageInput{Stage: hook.WillBindProviders.Stage(), Hooks: []string{"h"}, Facts: f}, hook.Delta{})
			if err != nil {
				t.Fatal(err)
			}
			if failed := v.Outcome == hook.Failed && v.Failure.Code == toolspec.CodeInternal; failed != tc.fails || !reflect.DeepEqual(v.Delta.Bindings, tc.want) {
				t.Errorf("got %+v, %+v; want %+v", v.Outcome, v.Delta.Bindings, tc.want)
			}
			if strings.Contains(log.String(), "password") {
				t.Errorf("the log says %s", log)
			}
			if tc.want != nil && v.Delta.Size() < 3 {
				t.Errorf("the bindings count as %d bytes", v.Delta.Size())
			}
		})
	}
}

// TestProvidersOfViews: a hook finds bindings that were made before it, also by an earlier hook of
// its stage.
func TestProvidersOfViews(t *testing.T) {
	token := provide.NewToken[string]("name")
	f := provide.NewFactory("f", token, func(_ context.Context, name string) (string, error) { return name, nil })
	recipe, err := f.With("bound")
	if err != nil {
		t.Fatal(err)
	}
	provided, err := provide.NewRegistry(provide.Factories(f), provide.Singleton(token, "global"))
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	look := func(ctx context.Context, p *provide.Providers) error {
		v, err := provide.Get(ctx, p, token)
		seen = append(seen, v)
		return err
	}
	r, _ := registry(t, hook.New("h", hook.WillBindProviders.Do(func(ctx context.Context, v *hook.Binder) error {
		if err := look(ctx, v.Providers()); err != nil {
			return err
		}
		v.Bind(recipe)
		return look(ctx, v.Providers())
	})))
	in := hook.StageInput{Stage: hook.WillBindProviders.Stage(), Hooks: []string{"h"}, Facts: facts()}
	ctx := provide.NewContext(t.Context(), provided.For("inv", provide.SessionKey{}, nil))
	if v, err := r.Run(ctx, in, hook.Delta{}); err != nil || v.Outcome != hook.Continue || !reflect.DeepEqual(seen, []string{"global", "bound"}) {
		t.Errorf("saw %v, %+v, %v", seen, v, err)
	}
	// If the context has no providers, Get returns an error, and the hook returns this error.
	if v, err := r.Run(t.Context(), in, hook.Delta{}); err != nil || v.Outcome != hook.Failed {
		t.Errorf("unbound: %+v, %v", v, err)
	}
}
