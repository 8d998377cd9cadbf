package broker

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// TestEffective: a subset of both, the same whichever comes first, and nothing where either is empty (CN-05, CN-07).
func TestEffective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "c", "d"}), 0, 6)
		granted, requested := ids.Draw(t, "granted"), ids.Draw(t, "requested")
		got := Effective(granted, requested)
		if !slices.Equal(got, Effective(requested, granted)) {
			t.Errorf("the other way round it is %v", Effective(requested, granted))
		}
		for _, id := range []string{"", "a", "b", "c", "d"} {
			want := id != "" && slices.Contains(granted, id) && slices.Contains(requested, id)
			if slices.Contains(got, id) != want {
				t.Errorf("%q is in %v: %t", id, got, !want)
			}
		}
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("got %v", got)
		}
	})
}

func TestHolder(t *testing.T) {
	for want, c := range map[string]toolspec.Context{
		"agent:one": {ActorID: "agent:one"}, "user:sue": {ActorID: "agent:one", SubjectID: "user:sue"}, "": {ActorID: "role:ops"},
	} {
		if got := Holder(c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := Holder(toolspec.Context{ActorID: "agent:one", SubjectID: "group:staff"}); got != "" {
		t.Errorf("a group holds %q", got)
	}
}

func TestCovers(t *testing.T) {
	scopes := []string{"read", "send"}
	grant := func(grantee string, held bool, scopes ...string) hook.ConnectionGrant {
		return hook.ConnectionGrant{Grantee: grantee, Held: held, Scopes: scopes}
	}
	for name, tc := range map[string]struct {
		grants []hook.ConnectionGrant
		roles  []string
		needs  []string
		want   bool
	}{
		"no grant":                       {nil, []string{"ops"}, nil, false},
		"a grant, no needs":              {[]hook.ConnectionGrant{grant("user:a", true)}, nil, nil, true},
		"a role by relation":             {[]hook.ConnectionGrant{grant("role:x", true)}, nil, nil, true},
		"a role by policy":               {[]hook.ConnectionGrant{grant("role:ops", false)}, []string{"ops"}, nil, true},
		"a role that nobody has":         {[]hook.ConnectionGrant{grant("role:x", false)}, []string{"ops"}, nil, false},
		"a scope":                        {[]hook.ConnectionGrant{grant("user:a", true, "read")}, nil, []string{"read"}, true},
		"another scope":                  {[]hook.ConnectionGrant{grant("user:a", true, "send")}, nil, []string{"read"}, false},
		"no scope":                       {[]hook.ConnectionGrant{grant("user:a", true)}, nil, []string{"read"}, false},
		"all scopes":                     {[]hook.ConnectionGrant{grant("user:a", true, "*")}, nil, scopes, true},
		"more than the account has":      {[]hook.ConnectionGrant{grant("user:a", true, "*", "admin")}, nil, []string{"admin"}, false},
		"gathered from two":              {[]hook.ConnectionGrant{grant("user:a", true, "read"), grant("role:x", true, "send")}, nil, scopes, true},
		"of one that does not count":     {[]hook.ConnectionGrant{grant("user:a", true, "read"), grant("role:x", false, "send")}, nil, scopes, false},
		"the star is no scope to ask of": {[]hook.ConnectionGrant{grant("user:a", true, "*")}, nil, []string{"*"}, false},
	} {
		if got := Covers(hook.Connection{Status: "active", Scopes: scopes, Grants: tc.grants}, tc.roles, tc.needs); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
		if missing, granted := Missing(hook.Connection{Status: "active", Scopes: scopes, Grants: tc.grants}, tc.roles, tc.needs); (len(missing) == 0 && granted) != tc.want ||
			len(missing) > 0 && !granted {
			t.Errorf("%s: missing are %v, granted: %t", name, missing, granted)
		}
		if Covers(hook.Connection{Status: StatusRevoked, Scopes: scopes, Grants: tc.grants}, tc.roles, tc.needs) {
			t.Errorf("%s: of a connection that is revoked", name)
		}
		_, granted := Missing(hook.Connection{Status: "active", Grants: tc.grants}, tc.roles, nil)
		if got := IsGranted(hook.Connection{Status: StatusRevoked, Grants: tc.grants}, tc.roles); got != granted {
			t.Errorf("%s: of a connection that is revoked, granted: %t", name, got)
		}
	}
}

// Missing names the scopes that lack to a holder of a grant, and nothing to anybody else.
func TestMissing(t *testing.T) {
	n := hook.Connection{Status: "active", Scopes: []string{"read", "send"}, Grants: []hook.ConnectionGrant{{Grantee: "user:a", Held: true, Scopes: []string{"read"}}}}
	if missing, granted := Missing(n, nil, []string{"read", "send", "admin"}); !granted || !slices.Equal(missing, []string{"send", "admin"}) {
		t.Errorf("missing are %v, granted: %t", missing, granted)
	}
	n.Grants = nil
	if missing, granted := Missing(n, nil, []string{"read"}); granted || missing != nil {
		t.Errorf("without a grant missing are %v, granted: %t", missing, granted)
	}
}
