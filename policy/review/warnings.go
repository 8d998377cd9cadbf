package review

import (
	"fmt"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/document"
)

// Warnings returns the settings that make a tenant less safe than the defaults, as lines sorted
// by tenant. A worker logs them as warnings when it starts with the policy or loads it.
func Warnings(p *policy.Policy) []string {
	tenants := p.Document().Tenants
	if len(tenants) == 0 {
		return []string{"no policy is active: every call is denied"}
	}
	var lines []string
	for _, id := range p.Tenants() {
		t := tenants[id]
		warn := func(applies bool, text string) {
			if applies {
				lines = append(lines, fmt.Sprintf("tenant %s: %s", id, text))
			}
		}
		warn(t.Approvals.Enabled && t.Approvals.AllowUnsigned, "unsigned approval decisions count; do not use in production")
		warn(t.Approvals.Enabled && t.Approvals.AllowSelfApproval, "requesters may approve their own calls")
		warn(t.Mode == document.Yolo, "mode yolo asks nobody, whatever the risk")
		for _, o := range t.Overrides {
			warn(o.Mode == document.Yolo && t.Mode != document.Yolo, fmt.Sprintf("mode yolo for %s asks nobody, whatever the risk", o.Tool))
		}
		warn(id == document.EveryTenant, "it holds for every tenant that is not named")
		warn(document.MatchesAny(t.AllowedTools, ""), "allowedTools holds *: tools that are added later are allowed too")
	}
	return lines
}
