package policy

import (
	"fmt"

	"github.com/pawl-run/pawl/toolspec"
)

// Allowlist is the policy that allows one tenant just the named tools, without
// asking, and nobody anything else (createToolAllowlistPolicy). Calls that were
// repaired or have no schema are still asked about. No ids: nothing is allowed.
// The error names the tenant or tool id that breaks its rule.
func Allowlist(tenantID string, ids ...string) (*Policy, error) {
	if tenantID == everyTenant {
		return nil, fmt.Errorf("the tenant id %q is not one tenant", tenantID)
	}
	doc := document{Version: docVersion, Tenants: map[string]tenantDoc{}}
	t := tenantDoc{
		AllowedTools: []Pattern{}, Mode: Ask,
		Approvals: defaultApprovals(),
	}
	for _, id := range ids {
		// Parse would take a pattern; a list of ids means exactly these.
		if err := toolspec.CheckToolID(id); err != nil {
			return nil, fmt.Errorf("the tool id %q %w", id, err)
		}
		t.AllowedTools = append(t.AllowedTools, Pattern(id))
		t.Rules = append(t.Rules, ruleDoc{Tool: Pattern(id), Decision: Allow})
	}
	doc.Tenants[tenantID] = t
	return Parse("allowlist", canonical(doc))
}
