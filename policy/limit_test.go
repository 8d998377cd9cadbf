package policy

import (
	"slices"
	"testing"
	"time"

	"github.com/pawl-run/pawl/policy/document"
	"pgregory.net/rapid"
)

func limitsOf(t interface {
	Helper()
	Fatal(...any)
}, limits string, f Facts) []Limit {
	t.Helper()
	p, err := Parse("policy.yaml", []byte("version: 1\ntenants: {acme: {allowedTools: [\"*\"], limits: "+limits+"}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return p.Limits(f)
}

func TestLimits(t *testing.T) {
	f := Facts{TenantID: "acme", ToolID: "core__mail", ActorID: "user:ann", ConnectionID: "c1"}
	const written = `[
		{tool: "core__*", quota: {tokens: 50, every: 1h}},
		{tool: core__read, concurrent: 1},
		{tool: core__mail, per: [connection, actor, tool], concurrent: 3, then: wait, waitFor: 2m},
		{tool: "*", per: [tenant], concurrent: 9, then: wait}]`
	want := []Limit{
		{Key: `["core__*","every 1h0m0s"]`, Tokens: 50, Every: time.Hour, Source: "tenants.acme.limits[0]"},
		{
			Key:        `["core__mail","concurrent","tool","core__mail","actor","user:ann","connection","c1"]`,
			Concurrent: 3, Wait: true, WaitFor: 2 * time.Minute, Source: "tenants.acme.limits[2]",
		},
		{Key: `["*","concurrent"]`, Concurrent: 9, Wait: true, Source: "tenants.acme.limits[3]"},
	}
	if got := limitsOf(t, written, f); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	f.TenantID = "other"
	if got := limitsOf(t, written, f); got != nil {
		t.Errorf("another tenant has the limits %+v", got)
	}
	if got := (*Policy)(nil).Limits(f); got != nil {
		t.Errorf("no policy has the limits %+v", got)
	}
}

// TestLimitKeys: calls share a key if and only if they agree in what the limit counts apart, however names are spelt.
func TestLimitKeys(t *testing.T) {
	scopes := []document.Scope{document.PerTool, document.PerActor, document.PerConnection}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"", "a", "b", `a","actor`, `","actor","a`, "a\x00b", "é", string(make([]byte, 900))})
		facts := rapid.Custom(func(t *rapid.T) Facts {
			return Facts{TenantID: "acme", ToolID: name.Draw(t, "tool"), ActorID: name.Draw(t, "actor"), ConnectionID: name.Draw(t, "connection")}
		})
		l := limit{tool: "*", kind: "concurrent"}
		for _, s := range scopes {
			if rapid.Bool().Draw(t, "per") {
				l.per = append(l.per, s)
			}
		}
		a, b := facts.Draw(t, "a"), facts.Draw(t, "b")
		same := true
		for _, s := range l.per {
			same = same && map[document.Scope]bool{document.PerTool: a.ToolID == b.ToolID, document.PerActor: a.ActorID == b.ActorID, document.PerConnection: a.ConnectionID == b.ConnectionID}[s]
		}
		if shared := l.key(a) == l.key(b); shared != same || len(l.key(a)) > maxKey {
			t.Fatalf("%q and %q are shared: %t, want %t", l.key(a), l.key(b), shared, same)
		}
	})
}
