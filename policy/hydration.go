package policy

import "github.com/pawl-run/pawl/policy/document"

// Repairs reports whether hydration may repair the arguments for a tool, once, if it cannot use
// them as they were sent. A call with repaired arguments needs an approval unless the policy
// denies it.
func (p *Policy) Repairs(tenantID, toolID string) bool {
	t := p.tenant(tenantID)
	return t != nil && document.MatchesAny(t.repair, toolID)
}
