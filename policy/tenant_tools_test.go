package policy

import (
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// TestToolsOfTenants: a tool that is registered for a tenant is nobody else's, whatever a policy says, and * does not allow it to its tenant
// either (RG-08).
func TestToolsOfTenants(t *testing.T) {
	const rest = "\n    mode: yolo\n    rules: [{tool: '*', decision: allow}]\n    overrides: [{tool: '*', mode: yolo}]\n"
	for name, tc := range map[string]struct {
		allowed, toolID string
		verb            Verb
		visible         catalog.Visibility
	}{
		"its own":                 {"[tenant-acme__*]", "tenant-acme__a", Allow, catalog.Visible},
		"its own by its id":       {"[tenant-acme__a]", "tenant-acme__a", Allow, catalog.Visible},
		"its own by tenant-*":     {"['tenant-*']", "tenant-acme__a", Allow, catalog.Visible},
		"its own, nobody says so": {"['*']", "tenant-acme__a", Deny, catalog.Hidden},
		"another one":             {"['*', 'tenant-*']", "tenant-globex__a", Deny, catalog.Hidden},
		"another one by its id":   {"[tenant-globex__a]", "tenant-globex__a", Deny, catalog.Hidden},
		"of a longer name":        {"['*', 'tenant-*']", "tenant-acme-2__a", Deny, catalog.Hidden},
		"of its server":           {"['mcp__tenant-acme_*']", "mcp__tenant-acme_docs__a", Allow, catalog.Visible},
		"of a server, by *":       {"['*', 'mcp__*']", "mcp__tenant-acme_docs__a", Deny, catalog.Hidden},
		"of another server":       {"['*', 'mcp__tenant-*']", "mcp__tenant-globex_docs__a", Deny, catalog.Hidden},
		"of no tenant":            {"['*']", "core__a", Allow, catalog.Visible},
	} {
		p := mustParse(t, acme("    allowedTools: "+tc.allowed+rest))
		spec := toolspec.Spec{Name: tc.toolID, Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk}
		if d := p.Decide(call().Of(spec)); d.Verb != tc.verb || d.Verb == Deny && d.Rule != "allowedTools" {
			t.Errorf("%s: %+v", name, d)
		}
		if got := p.Visible(catalog.Viewer{TenantID: "acme", ActorID: "agent:a"}, spec); got != tc.visible {
			t.Errorf("%s: visible %v", name, got)
		}
		if _, denied := p.DenyUnreviewed(call().Of(spec)); denied != toolspec.ForeignTool("acme", tc.toolID) {
			t.Errorf("%s: an engine is asked: %t", name, !denied)
		}
	}
}
