package policy

import (
	"slices"
	"testing"
	"time"
)

const withRoles = `
version: 1
tenants:
  acme:
    allowedTools: [core__*]
    mode: auto
    roles:
      writer: ["agent:*", user:bob]
      admin: [user:ann]
      everyone: ["*"]
      nobody: []
    rules:
      - {tool: core__write_*, roles: [admin], decision: allow}
      - {tool: core__write_*, roles: [nobody, writer], decision: require_approval, message: writers are asked about}
      - {tool: core__*, when: '"admin" in roles && args.path == "/etc"', decision: deny}
  "*":
    allowedTools: [core__read_*]
    mode: yolo
    roles: {guest: ["*"]}
    limits: [{tool: core__*, concurrent: 1}]
    cache: [{tool: core__*, for: 1m}]
    features: {reads: {tools: [core__*], enabled: true}}
`

func TestRoles(t *testing.T) {
	p := mustParse(t, withRoles)
	for _, c := range []struct {
		tenant, identity string
		want             []string
	}{
		{"acme", "user:ann", []string{"admin", "everyone"}},
		{"acme", "user:bob", []string{"everyone", "writer"}},
		{"acme", "user:bobby", []string{"everyone"}},
		{"acme", "User:ann", []string{"everyone"}},
		{"acme", "agent:", []string{"everyone", "writer"}},
		{"acme", "", nil},
		{"globex", "user:ann", []string{"guest"}},
		{"", "user:ann", nil},
	} {
		if got := p.Roles(c.tenant, c.identity); !slices.Equal(got, c.want) {
			t.Errorf("%s of %s: %v, want %v", c.identity, c.tenant, got, c.want)
		}
	}
	if (*Policy)(nil).Roles("acme", "user:ann") != nil || Development().Roles("globex", "user:ann") != nil {
		t.Error("roles without a policy")
	}
	p.Roles("acme", "user:ann")[0] = "changed"
	if p.Roles("acme", "user:ann")[0] != "admin" {
		t.Error("Roles gives the policy's own list away")
	}
}

// PO-05: by the actor's role, the same call is judged otherwise.
func TestRulesOfRoles(t *testing.T) {
	p := mustParse(t, withRoles)
	for _, c := range []struct {
		actor, args string
		verb        Verb
		rule        string
	}{
		{"user:ann", `{}`, Deny, "tenants.acme.rules[2] (its condition failed)"},
		{"user:ann", `{"path":"/x"}`, Allow, "tenants.acme.rules[0]"},
		{"user:ann", `{"path":"/etc"}`, Deny, "tenants.acme.rules[2]"},
		{"user:bob", `{"path":"/etc"}`, RequireApproval, "tenants.acme.rules[1]"},
		{"agent:x", `{}`, RequireApproval, "tenants.acme.rules[1]"},
		{"user:cyd", `{}`, RequireApproval, "mode auto, risk medium"},
		{"", `{}`, RequireApproval, "mode auto, risk medium"},
	} {
		f := call()
		f.ActorID, f.Args = c.actor, []byte(c.args)
		wantVerb(t, p.Decide(f), c.verb, c.rule)
	}
}

// The entry * is for tenants that are not named, and for all that policy says.
func TestEveryTenant(t *testing.T) {
	p := mustParse(t, withRoles)
	f := call()
	f.TenantID, f.ToolID = "globex", "core__read_file"
	wantVerb(t, p.Decide(f), Allow, "mode yolo, risk medium")
	if len(p.Limits(f)) != 1 || p.CacheFor("globex", "core__x", time.Hour) != time.Minute || len(p.Features(f)) != 1 {
		t.Error("limits, cache and features are not those of every tenant")
	}
	f.TenantID = "acme"
	if len(p.Limits(f)) != 0 || p.CacheFor("acme", "core__x", time.Hour) != time.Hour || len(p.Features(f)) != 0 {
		t.Error("a tenant that is named gets what is for the others")
	}
	f.TenantID = ""
	wantVerb(t, p.Decide(f), Deny, "tenants")
}

func TestFeatures(t *testing.T) {
	p := mustParse(t, acme(`
    allowedTools: [core__*]
    roles: {beta: ["user:b*"]}
    features:
      writes: {tools: [core__write_*, core__edit_file], enabled: false, message: writes are off today}
      exports: {tools: [core__export], enabled: true, roles: [beta]}
      all: {tools: ["*"], enabled: true}
`))
	for _, c := range []struct {
		tool, actor string
		want        []Feature
	}{
		{"core__write_file", "user:ann", []Feature{
			{"all", true, "the feature all is off", "tenants.acme.features.all"},
			{"writes", false, "writes are off today", "tenants.acme.features.writes"},
		}},
		{"core__export", "user:bob", []Feature{
			{"all", true, "the feature all is off", "tenants.acme.features.all"},
			{"exports", true, "the feature exports is off", "tenants.acme.features.exports"},
		}},
		{"core__export", "user:ann", []Feature{
			{"all", true, "the feature all is off", "tenants.acme.features.all"},
			{"exports", false, "the feature exports is off", "tenants.acme.features.exports"},
		}},
	} {
		f := call()
		f.ToolID, f.ActorID = c.tool, c.actor
		if got := p.Features(f); !slices.Equal(got, c.want) {
			t.Errorf("%s by %s: %+v", c.tool, c.actor, got)
		}
	}
	if (*Policy)(nil).Features(call()) != nil {
		t.Error("features without a policy")
	}
}

// An override is for its tools alone, and of several the first that says
// something.
func TestOverrides(t *testing.T) {
	p := mustParse(t, acme(`
    allowedTools: [core__*]
    mode: ask
    budgets: {maxRuntimeMs: 1000, maxAttempts: 2}
    overrides:
      - {tool: core__write_file, budgets: {maxRuntimeMs: 60000}}
      - {tool: core__write_*, mode: yolo, budgets: {maxRuntimeMs: 5, deadlineMs: 70000}}
      - {tool: core__*, mode: auto}
`))
	for _, c := range []struct {
		tool string
		verb Verb
		rule string
		b    Budgets
	}{
		{"core__write_file", Allow, "mode yolo, risk medium", Budgets{MaxRuntimeMs: 60_000, DeadlineMs: 70_000, MaxAttempts: 2}},
		{"core__write_all", Allow, "mode yolo, risk medium", Budgets{MaxRuntimeMs: 5, DeadlineMs: 70_000, MaxAttempts: 2}},
		{"core__ls", RequireApproval, "mode auto, risk medium", Budgets{MaxRuntimeMs: 1000, MaxAttempts: 2}},
	} {
		f := call()
		f.ToolID = c.tool
		d := p.Decide(f)
		wantVerb(t, d, c.verb, c.rule)
		if d.Budgets != c.b {
			t.Errorf("%s: %+v", c.tool, d.Budgets)
		}
	}
	// C-17: yolo for one tool lifts its question, and nothing else.
	p = mustParse(t, acme("    allowedTools: [core__*]\n    requireApprovalForEffects: [state_change]\n    overrides: [{tool: core__*, mode: yolo}]\n"))
	wantVerb(t, p.Decide(call()), RequireApproval, "requireApprovalForEffects")
}
