package cache

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

func caller() toolspec.Context {
	return toolspec.Context{
		TenantID: "acme", RunID: "run-1", ActorID: "user:ann", SubjectID: "user:sue", SessionID: "s-1", RequestID: "r-1", GraphID: "g-1",
		VirtualKeyID: "vk-1",
	}
}

// keyOf returns the key of a call. It fails the test if the call has no key.
func keyOf(t testing.TB, c toolspec.Context, scope toolspec.CacheScope, tool, toolDigest, policy string, n hook.Connection, args string) string {
	t.Helper()
	in, err := newCacheInput(c, scope, tool, toolDigest, policy, n, json.RawMessage(args))
	if err != nil {
		t.Fatal(err)
	}
	return in.key()
}

// TestCacheKey: two calls share a value only if all facts are equal on which the value may depend (case 38 of
// docs/internals/faults.md).
func TestCacheKey(t *testing.T) {
	type parts struct {
		c                            toolspec.Context
		scope                        toolspec.CacheScope
		tool, digest, policy, argues string
		n                            hook.Connection
	}
	connected := func(p *parts) { p.c.ConnectionID = "conn-1" }
	tenantWide := func(p *parts) { p.scope = toolspec.PerTenant }
	session := func(p *parts) { p.scope = toolspec.PerSession }
	key := func(changes ...func(*parts)) string {
		p := parts{caller(), toolspec.PerActor, "core__read", "td", "pd", `{"a":1,"b":[true,null]}`, hook.Connection{Generation: 1}}
		for _, change := range changes {
			change(&p)
		}
		return keyOf(t, p.c, p.scope, p.tool, p.digest, p.policy, p.n, p.argues)
	}
	tenant := func(p *parts) { p.c.TenantID = "globex" }
	actor := func(p *parts) { p.c.ActorID = "user:bob" }
	subject := func(p *parts) { p.c.SubjectID = "" }
	otherSession := func(p *parts) { p.c.SessionID = "s-2" }
	for _, tc := range []struct {
		name   string
		before []func(*parts)
		change func(*parts)
		same   bool
	}{
		{"nothing", nil, func(*parts) {}, true},
		{"the order of arguments", nil, func(p *parts) { p.argues = ` { "b": [true, null], "a": 1.0 } ` }, true},
		{"ids of the run", nil, func(p *parts) { p.c.RunID, p.c.RequestID, p.c.GraphID = "run-2", "r-2", "g-2" }, true},
		{"tenant", nil, tenant, false},
		{"actor", nil, actor, false},
		{"subject", nil, subject, false},
		{"session, per actor", nil, otherSession, true},
		{"virtual key", nil, func(p *parts) { p.c.VirtualKeyID = "vk-2" }, false},
		{"connection", []func(*parts){connected}, func(p *parts) { p.c.ConnectionID = "conn-2" }, false},
		{"generation of the connection", []func(*parts){connected}, func(p *parts) { p.n.Generation = 2 }, false},
		{"with a connection and without", nil, connected, false},
		{"tool", nil, func(p *parts) { p.tool = "core__other" }, false},
		{"tool digest", nil, func(p *parts) { p.digest = "td2" }, false},
		{"policy version", nil, func(p *parts) { p.policy = "pd2" }, false},
		{"arguments", nil, func(p *parts) { p.argues = `{"a":2,"b":[true,null]}` }, false},
		{"an argument that is there as null", nil, func(p *parts) { p.argues = `{"a":1,"b":[true,null],"c":null}` }, false},
		{"where a text ends", nil, func(p *parts) { p.tool, p.digest = "core__readt", "d" }, false},
		{"scope", nil, tenantWide, false},
		{"tenant, per tenant", []func(*parts){tenantWide}, tenant, false},
		{"actor, per tenant", []func(*parts){tenantWide}, actor, true},
		{"subject, per tenant", []func(*parts){tenantWide}, subject, true},
		{"virtual key, per tenant", []func(*parts){tenantWide}, func(p *parts) { p.c.VirtualKeyID = "" }, false},
		{"actor, per tenant, over a connection", []func(*parts){tenantWide, connected}, actor, false},
		{"session, per session", []func(*parts){session}, otherSession, false},
		{"actor, per session", []func(*parts){session}, actor, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if same := key(tc.before...) == key(append(tc.before, tc.change)...); same != tc.same {
				t.Errorf("the key is the same: %t", same)
			}
		})
	}
	if got := key(); got != "6b941c178f75f97f329babfb452660c05e74d393e3f750bf84801c1920efdcff" {
		t.Errorf("the key is %s: other workers have other keys now; raise cacheVersion if that is meant", got)
	}
	if _, err := newCacheInput(caller(), toolspec.PerActor, "t", "d", "p", hook.Connection{}, json.RawMessage(`{"a":1,"a":2}`)); err == nil {
		t.Error("arguments without a canonical form have a key")
	}
}

// FuzzCacheKey: two inputs that differ in a field have different preimages.
func FuzzCacheKey(f *testing.F) {
	f.Add("acme", "user:ann", "core__read", "td", "pd", []byte(`{}`), "acme", "user:an", "ncore__read", "td", "pd", []byte(`{}`))
	f.Add("a", "", "b", "", "", []byte(""), "a", "b", "", "", "", []byte(""))
	f.Add("a\x00", "b", "", "", "", []byte("x"), "a", "\x00b", "", "", "", []byte("x"))
	f.Fuzz(func(t *testing.T, tenant1, actor1, tool1, digest1, policy1 string, args1 []byte, tenant2, actor2, tool2, digest2, policy2 string, args2 []byte) {
		one := cacheInput{tenant: tenant1, actor: actor1, tool: tool1, toolDigest: digest1, policyDigest: policy1, args: args1}
		two := cacheInput{tenant: tenant2, actor: actor2, tool: tool2, toolDigest: digest2, policyDigest: policy2, args: args2}
		// The same texts in other fields.
		moved := cacheInput{tenant: tenant1, subject: actor1, session: tool1, connection: digest1, generation: policy1, args: args1}
		same := tenant1 == tenant2 && actor1 == actor2 && tool1 == tool2 && digest1 == digest2 && policy1 == policy2 && bytes.Equal(args1, args2)
		if bytes.Equal(one.preimage(), two.preimage()) != same {
			t.Errorf("%+v and %+v", one, two)
		}
		if bytes.Equal(one.preimage(), moved.preimage()) && actor1+tool1+digest1+policy1 != "" {
			t.Errorf("%+v and %+v", one, moved)
		}
	})
}
