package policy

import "fmt"

// Warnings returns the settings that make a tenant less safe than the defaults, as lines sorted
// by tenant. A worker logs them as warnings when it starts with the policy or loads it.
func (p *Policy) Warnings() []string {
	if p == nil || len(p.tenants) == 0 {
		return []string{"no policy is active: every call is denied"}
	}
	var lines []string
	for _, id := range p.tenantIDs() {
		t := p.tenants[id]
		warn := func(applies bool, text string) {
			if applies {
				lines = append(lines, fmt.Sprintf("tenant %s: %s", id, text))
			}
		}
		warn(t.approval.Enabled && t.approval.AllowUnsigned, "unsigned approval decisions count; do not use in production")
		warn(t.approval.Enabled && t.approval.AllowSelfApproval, "requesters may approve their own calls")
		warn(t.mode == Yolo, "mode yolo asks nobody, whatever the risk")
		for _, o := range t.overrides {
			warn(o.mode == Yolo && t.mode != Yolo, fmt.Sprintf("mode yolo for %s asks nobody, whatever the risk", o.tool))
		}
		warn(id == everyTenant, "it holds for every tenant that is not named")
		warn(matchesAny(t.allowed, ""), "allowedTools holds *: tools that are added later are allowed too")
	}
	return lines
}
