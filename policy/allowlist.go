package policy

import (
	"fmt"

	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
)

// Allowlist returns a policy that allows one tenant the named tools without an approval, and
// denies everything else (createToolAllowlistPolicy). Repaired calls still need an approval, and
// calls without a schema are denied. Without ids it allows nothing. The error names the tenant id
// or the tool id that is not valid.
func Allowlist(tenantID string, ids ...string) (*Policy, error) {
	if tenantID == document.EveryTenant {
		return nil, fmt.Errorf("the tenant id %q is not one tenant", tenantID)
	}
	doc := document.Document{Version: document.Version, Tenants: map[string]document.Tenant{}}
	t := document.Tenant{
		AllowedTools: []document.Pattern{}, Mode: document.Ask,
		Approvals: document.DefaultApprovals(),
	}
	for _, id := range ids {
		// Parse would accept a pattern, but an id here must name exactly one tool.
		if err := toolspec.CheckToolID(id); err != nil {
			return nil, fmt.Errorf("the tool id %q %w", id, err)
		}
		t.AllowedTools = append(t.AllowedTools, document.Pattern(id))
		t.Rules = append(t.Rules, document.Rule{Tool: document.Pattern(id), Decision: Allow})
	}
	doc.Tenants[tenantID] = t
	return Parse("allowlist", document.Canonical(doc))
}
