package postgres_test

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/activities/providers"
	"github.com/pawl-run/pawl/toolspec/provide"
)

// TestSessions: the last binding of a session wins and gets a new version, and the same binding again changes nothing. Sessions and tenants are separate. A run
// with an older epoch writes nothing, and a binding that is not renewed for a long time is deleted.
func TestSessions(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	key := provide.SessionKey{TenantID: tenant, SessionID: "s1"}
	bind := func(epoch int, recipes ...provide.Recipe) []provide.Binding {
		t.Helper()
		kept, err := b.BindSession(own(t), providers.SessionRow{InvocationID: id("call_1"), Epoch: epoch, Session: key, Recipes: recipes})
		if err != nil {
			t.Fatal(err)
		}
		return kept
	}
	bound := func(key provide.SessionKey) []provide.Binding {
		t.Helper()
		found, err := b.SessionBindings(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	recipe := func(token, args string) provide.Recipe {
		return provide.Recipe{Token: token, Factory: "f", Args: []byte(args)}
	}
	version := func(r provide.Recipe, n int64) provide.Binding {
		return provide.Binding{Scope: provide.Session, Recipe: r, Version: n}
	}
	for _, step := range []struct {
		recipes []provide.Recipe
		want    []provide.Binding
	}{
		{[]provide.Recipe{recipe("b", `{"n": 1}`), recipe("a", `1`)}, []provide.Binding{version(recipe("a", `1`), 1), version(recipe("b", `{"n": 1}`), 1)}},
		{[]provide.Recipe{recipe("a", `1`)}, []provide.Binding{version(recipe("a", `1`), 1)}},
		{[]provide.Recipe{recipe("a", `2`), recipe("a", `3`)}, []provide.Binding{version(recipe("a", `3`), 2)}},
		{[]provide.Recipe{{Token: "a", Factory: "f"}}, []provide.Binding{version(recipe("a", `null`), 3)}},
	} {
		if got := bind(1, step.recipes...); !reflect.DeepEqual(got, step.want) {
			t.Errorf("bound %+v, want %+v", got, step.want)
		}
	}
	if got := bound(key); len(got) != 2 || got[0].Version != 3 || got[1].Token != "b" {
		t.Errorf("the session has %+v", got)
	}
	for _, other := range []provide.SessionKey{{TenantID: "globex", SessionID: "s1"}, {TenantID: tenant, SessionID: "s2"}} {
		if got := bound(other); len(got) != 0 {
			t.Errorf("%+v has %+v", other, got)
		}
	}
	b.admit("call_1") // epoch 2
	if got := bind(1, recipe("a", `9`)); len(got) != 0 || bound(key)[0].Version != 3 {
		t.Errorf("a call that moved on bound %+v", got)
	}
	b.sql(`UPDATE session_bindings SET written_at = now() - interval '31 days' WHERE token = 'a'`)
	if got := bound(key); len(got) != 1 || got[0].Token != "b" {
		t.Errorf("after a month the session has %+v", got)
	}
	for _, want := range []int{1, 0} {
		if n, err := b.DeleteOldSessions(t.Context(), 10); n != want || err != nil {
			t.Errorf("deleted %d, %v; want %d", n, err, want)
		}
	}
}
