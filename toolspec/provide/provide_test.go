package provide_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/provide"
)

// root is what these tests provide: a place with a name.
type root struct {
	name   string
	closed bool
}

func (r *root) Close() error { r.closed = true; return nil }

type rootArgs struct {
	Name string `json:"name"`
	Fail bool   `json:"fail,omitempty"`
}

var (
	token   = provide.NewToken[*root]("root")
	errMake = errors.New("cannot be made")
)

// maker counts what it makes.
type maker struct{ made []string }

func (m *maker) factory(id string) provide.Factory[*root, rootArgs] {
	return provide.NewFactory(id, token, func(_ context.Context, a rootArgs) (*root, error) {
		m.made = append(m.made, a.Name)
		if a.Fail {
			return nil, errMake
		}
		return &root{name: a.Name}, nil
	})
}

func registry(t *testing.T, options ...provide.Option) *provide.Registry {
	t.Helper()
	r, err := provide.NewRegistry(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func recipe(t *testing.T, f provide.Factory[*root, rootArgs], name string) provide.Recipe {
	t.Helper()
	r, err := f.With(rootArgs{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func bound(s provide.Scope, r provide.Recipe) provide.Binding {
	return provide.Binding{Scope: s, Recipe: r, Version: 1}
}

var session = provide.SessionKey{TenantID: "acme", SessionID: "s1"}

// get returns the name of what a call is provided with, "" for nothing.
func get(t *testing.T, p *provide.Providers) string {
	t.Helper()
	v, ok, err := provide.TryGet(t.Context(), p, token)
	if err != nil {
		t.Fatal(err)
	}
	if must, err := provide.Get(t.Context(), p, token); ok != (err == nil) || must != v {
		t.Errorf("TryGet says %t, Get says %v", ok, err)
	}
	if !ok {
		return ""
	}
	return v.name
}

// TestScopes: request, session, global; the first match wins, and without one Get fails and TryGet does not (DI-01, DI-06, DI-07).
func TestScopes(t *testing.T) {
	var m maker
	f := m.factory("made")
	global := provide.Singleton(token, &root{name: "global"})
	perSession := provide.PerSession(token, func(_ context.Context, s provide.SessionKey) (*root, error) {
		return &root{name: "of " + s.SessionID}, nil
	})
	request, kept := bound(provide.Request, recipe(t, f, "request")), bound(provide.Session, recipe(t, f, "session"))
	for name, tc := range map[string]struct {
		options  []provide.Option
		session  provide.SessionKey
		bindings []provide.Binding
		want     string
	}{
		"nothing":                       {nil, session, nil, ""},
		"global":                        {[]provide.Option{global}, session, nil, "global"},
		"session provider":              {[]provide.Option{global, perSession}, session, nil, "of s1"},
		"session provider, no session":  {[]provide.Option{global, perSession}, provide.SessionKey{TenantID: "acme"}, nil, "global"},
		"session binding":               {[]provide.Option{global, perSession}, session, []provide.Binding{kept}, "session"},
		"request binding":               {[]provide.Option{global, perSession}, session, []provide.Binding{request, kept}, "request"},
		"request binding, other order":  {[]provide.Option{global, perSession}, session, []provide.Binding{kept, request}, "request"},
		"the later of two":              {nil, session, []provide.Binding{request, bound(provide.Request, recipe(t, f, "later"))}, "later"},
		"override":                      {[]provide.Option{global, provide.Override(token, &root{name: "mine"})}, session, []provide.Binding{request}, "mine"},
		"a binding of another token":    {nil, session, []provide.Binding{{Scope: provide.Request, Recipe: provide.Recipe{Token: "other", Factory: "made"}}}, ""},
		"a binding in an unknown scope": {nil, session, []provide.Binding{bound("moon", recipe(t, f, "moon"))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := registry(t, append(tc.options, provide.Factories(f))...)
			if got := get(t, r.For("inv", tc.session, tc.bindings)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if v, err := provide.Get(t.Context(), nil, token); !errors.Is(err, provide.ErrUnbound) || v != nil || !strings.Contains(err.Error(), `"root"`) {
		t.Errorf("without providers: %v, %v", v, err)
	}
}

// TestMadeOnce: an instance is made once in a call, again in the next; once in a session and version; once in a worker; and an override
// keeps its factory from being called at all (DI-10, DI-11, DI-12).
func TestMadeOnce(t *testing.T) {
	var m maker
	f := m.factory("made")
	globals := 0
	other := provide.NewToken[*root]("other")
	r := registry(t, provide.Factories(f), provide.SingletonFunc(other, func(context.Context) (*root, error) {
		if globals++; globals == 1 {
			return nil, errMake
		}
		return &root{name: "global"}, nil
	}))
	request := []provide.Binding{bound(provide.Request, recipe(t, f, "r"))}
	for _, inv := range []string{"one", "one", "two"} {
		get(t, r.For(inv, session, request)) // asks twice
	}
	if len(m.made) != 2 {
		t.Errorf("two calls made %v", m.made)
	}
	r.Forget("one")
	if get(t, r.For("one", session, request)); len(m.made) != 3 {
		t.Errorf("after the call was forgotten %v were made", m.made)
	}
	m.made = nil
	kept := bound(provide.Session, recipe(t, f, "s"))
	newer := kept
	newer.Version++
	for _, p := range []*provide.Providers{
		r.For("one", session, []provide.Binding{kept}), r.For("two", session, []provide.Binding{kept}),
		r.For("three", session, []provide.Binding{newer}), r.For("four", provide.SessionKey{TenantID: "globex", SessionID: "s1"}, []provide.Binding{kept}),
	} {
		get(t, p)
	}
	if len(m.made) != 3 {
		t.Errorf("two versions, and another tenant, made %v", m.made)
	}
	for range 3 {
		_, _ = provide.Get(t.Context(), r.For("one", session, nil), other)
	}
	if globals != 2 {
		t.Errorf("the singleton was made %d times, and failed once", globals)
	}
	m.made = nil
	over := registry(t, provide.Factories(f), provide.Override(token, &root{name: "mine"}))
	if get(t, over.For("one", session, request)); len(m.made) != 0 {
		t.Errorf("an overridden factory made %v", m.made)
	}
}

// TestFactoryFails: its error arrives, and the next one who asks tries again.
func TestFactoryFails(t *testing.T) {
	var m maker
	f := m.factory("made")
	r := registry(t, provide.Factories(f))
	failing, err := f.With(rootArgs{Name: "x", Fail: true})
	if err != nil {
		t.Fatal(err)
	}
	p := r.For("one", session, []provide.Binding{bound(provide.Request, failing)})
	for range 2 {
		if _, ok, err := provide.TryGet(t.Context(), p, token); ok || !errors.Is(err, errMake) {
			t.Errorf("got %t, %v", ok, err)
		}
	}
	if len(m.made) != 2 {
		t.Errorf("tried %d times", len(m.made))
	}
	wrong := r.For("one", session, []provide.Binding{{Scope: provide.Request, Recipe: provide.Recipe{Token: "root", Factory: "made", Args: []byte(`[1]`)}}})
	if _, err := provide.Get(t.Context(), wrong, token); err == nil || !strings.Contains(err.Error(), "does not understand") {
		t.Errorf("got %v", err)
	}
}

// TestFactoryMisbehaves: one that panics fails, one that asks for what it is about to make, or takes too long, holds nobody beyond their own
// time; and what many calls share is not made of what one of them bound, nor ended with it.
func TestFactoryMisbehaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m maker
		f := m.factory("made")
		panics, cycles, slow, copies := provide.NewToken[int]("panics"), provide.NewToken[int]("cycles"), provide.NewToken[int]("slow"), provide.NewToken[*root]("copies")
		var ended func() error
		r := registry(t, provide.Factories(f), provide.Singleton(token, &root{name: "global"}),
			provide.SingletonFunc(panics, func(context.Context) (int, error) { panic("canary") }),
			provide.SingletonFunc(cycles, func(ctx context.Context) (int, error) {
				return provide.Get(ctx, provide.FromContext(ctx), provide.NewToken[int]("cycles"))
			}),
			provide.SingletonFunc(slow, func(ctx context.Context) (int, error) {
				<-time.NewTimer(30 * time.Second).C
				return 7, ctx.Err()
			}),
			provide.SingletonFunc(copies, func(ctx context.Context) (*root, error) {
				ended = func() error { return context.Cause(ctx) }
				return provide.Get(ctx, provide.FromContext(ctx), token)
			}))
		p := r.For("one", session, []provide.Binding{bound(provide.Request, recipe(t, f, "mine"))})
		if _, err := provide.Get(t.Context(), p, panics); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("a panic: %v", err)
		}
		for _, token := range []provide.Token[int]{cycles, slow} {
			for range 2 { // the second waits for the first
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				began := time.Now()
				if _, err := provide.Get(ctx, p, token); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 2*time.Second {
					t.Errorf("%s: %v after %s", token.ID(), err, time.Since(began))
				}
				cancel()
			}
		}
		<-time.NewTimer(2 * time.Minute).C
		if v, err := provide.Get(t.Context(), p, slow); v != 7 || err != nil {
			t.Errorf("what took long is %d, %v", v, err)
		}
		ctx, cancel := context.WithCancel(provide.NewContext(t.Context(), p))
		v, err := provide.Get(ctx, p, copies)
		cancel()
		if err != nil || v.name != "global" {
			t.Errorf("what all calls share was made of %+v, %v", v, err)
		}
		if !errors.Is(ended(), context.Canceled) { // by its own end, when it was made
			t.Errorf("the context of the factory ended with %v", ended())
		}
	})
}

// TestLacks: a worker knows what it cannot make.
func TestLacks(t *testing.T) {
	var m maker
	r := registry(t, provide.Factories(m.factory("made")))
	known := bound(provide.Request, recipe(t, m.factory("made"), "x"))
	unknown := bound(provide.Request, recipe(t, m.factory("elsewhere"), "x"))
	mistaken := provide.Binding{Scope: provide.Request, Recipe: provide.Recipe{Token: "other", Factory: "made"}}
	for want, b := range map[string][]provide.Binding{"": {known}, "elsewhere": {known, unknown}, "made": {mistaken}} {
		if got, lacks := r.Lacks(b); got != want || lacks != (want != "") {
			t.Errorf("lacks %q, want %q", got, want)
		}
	}
	if _, _, err := provide.TryGet(t.Context(), r.For("one", session, []provide.Binding{unknown}), token); err == nil {
		t.Error("what nobody can make was made")
	}
}

// TestRegistryRefuses: what is wrong is said when a worker starts (DI-08).
func TestRegistryRefuses(t *testing.T) {
	var m maker
	f := m.factory("made")
	files := toolspec.NewCapability[*root]("files")
	nothing := func(context.Context, provide.SessionKey) (*root, error) { return nil, nil }
	for want, options := range map[string][]provide.Option{
		`factory "made" is registered twice`:         {provide.Factories(f), provide.Factories(f)},
		`factory "No": `:                             {provide.Factories(m.factory("No"))},
		`token "root" has two global providers`:      {provide.Singleton(token, nil), provide.Singleton(token, nil)},
		`token "root" has two session providers`:     {provide.PerSession(token, nothing), provide.PerSession(token, nothing)},
		`token "No": `:                               {provide.Singleton(provide.NewToken[*root]("No"), nil)},
		`capability "files" is backed by two tokens`: {provide.Backs(token, files), provide.Backs(token, files)},
	} {
		if _, err := provide.NewRegistry(options...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestCapabilities: a tool gets what is provided for its call, where anything is (C-27).
func TestCapabilities(t *testing.T) {
	var m maker
	f := m.factory("made")
	files, clock := toolspec.NewCapability[*root]("files"), toolspec.NewCapability[*root]("clock")
	r := registry(t, provide.Factories(f), provide.Backs(token, files))
	all, err := toolspec.NewCapabilities(files.Provide(&root{name: "all"}), clock.Provide(&root{name: "clock"}))
	if err != nil {
		t.Fatal(err)
	}
	declared := []toolspec.CapabilityName{files.Name(), clock.Name()}
	for name, tc := range map[string]struct {
		bindings []provide.Binding
		declared []toolspec.CapabilityName
		want     string
	}{
		"nothing bound": {nil, declared, "all"},
		"bound":         {[]provide.Binding{bound(provide.Request, recipe(t, f, "mine"))}, declared, "mine"},
		"not declared":  {[]provide.Binding{bound(provide.Request, recipe(t, f, "mine"))}, declared[1:], "all"},
	} {
		given, err := r.For(name, session, tc.bindings).Capabilities(t.Context(), tc.declared)
		if err != nil {
			t.Fatal(err)
		}
		call := toolspec.Call{}.WithCapabilities(all.With(given...))
		if got := files.From(call); got.name != tc.want || clock.From(call).name != "clock" || got != files.From(call) {
			t.Errorf("%s: the tool gets %q, want %q", name, got.name, tc.want)
		}
	}
	mistyped := provide.NewToken[any]("root")
	wrong := registry(t, provide.Singleton[any](mistyped, 7), provide.Backs(token, files))
	if _, err := wrong.For("one", session, nil).Capabilities(t.Context(), declared); err == nil {
		t.Error("a tool got what it cannot use")
	}
	if got := files.From(toolspec.Call{}.WithCapabilities(all)); got.name != "all" {
		t.Errorf("the worker's own capabilities have changed to %q", got.name)
	}
}

// TestManyCalls: what is kept is bounded, and what fell out is made again.
func TestManyCalls(t *testing.T) {
	var m maker
	f := m.factory("made")
	r := registry(t, provide.Factories(f))
	request := []provide.Binding{bound(provide.Request, recipe(t, f, "r"))}
	const calls = 3000
	for i := range calls {
		get(t, r.For(fmt.Sprint(i), session, request))
	}
	get(t, r.For("0", session, request))
	get(t, r.For(fmt.Sprint(calls-1), session, request))
	if len(m.made) != calls+1 {
		t.Errorf("%d were made", len(m.made))
	}
}

// TestClose: what a function made for the worker is closed with it, and nothing that is somebody else's.
func TestClose(t *testing.T) {
	own, given := &root{}, &root{}
	other := provide.NewToken[io.Closer]("other")
	r := registry(t, provide.SingletonFunc(token, func(context.Context) (*root, error) { return own, nil }), provide.Singleton[io.Closer](other, given))
	p := r.For("one", session, nil)
	if _, err := provide.Get(t.Context(), p, token); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if !own.closed || given.closed {
		t.Errorf("closed %t and %t", own.closed, given.closed)
	}
	if _, err := provide.Get(t.Context(), p, token); err == nil {
		t.Error("a closed worker provides")
	}
}
