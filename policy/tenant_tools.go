package policy

import (
	"slices"

	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
)

// notAllowed returns the decision on a call of a tool that the tenant may not use. It does not say whether
// the tool exists.
func notAllowed(f Facts) Decision {
	return Decision{Verb: Deny, Risk: f.Risk, Rule: "allowedTools", Message: "the tool is not allowed for this tenant"}
}

// allows reports whether a pattern of allowedTools matches a tool. A tool that is registered for a tenant is
// matched only by a pattern that matches nothing but such tools: otherwise a registration would add to what *
// allows (RG-08).
func (t *tenant) allows(toolID string) bool {
	if toolspec.TenantOfTool(toolID) == "" {
		return document.MatchesAny(t.allowed, toolID)
	}
	return slices.ContainsFunc(t.allowed, func(p document.Pattern) bool {
		return toolspec.MayNameTenantTools(string(p)) && p.Matches(toolID)
	})
}

// DenyRegistered returns the decision on a call of a registered tool that allowedTools of the tenant does not have. ok is false for every
// other call. Decide applies the same rule. DenyRegistered is for a check after the gate, because the gate of an older release does not
// have this rule.
func (p *Policy) DenyRegistered(f Facts) (d Decision, ok bool) {
	if toolspec.TenantOfTool(f.ToolID) == "" {
		return Decision{}, false
	}
	if t := p.tenant(f.TenantID); t != nil && !toolspec.ForeignTool(f.TenantID, f.ToolID) && t.allows(f.ToolID) {
		return Decision{}, false
	}
	return notAllowed(f), true
}
