package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
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
		warn(fetchesAnyHost(t, p.Rules(id)), "core__web_fetch fetches pages of every host without an approval, and a URL can carry data out; write a rule with host(args.url)")
		warn(id == document.EveryTenant, "it holds for every tenant that is not named")
		warn(document.MatchesAny(t.AllowedTools, ""), "allowedTools holds *: tools that are added later are allowed too")
	}
	return lines
}

// webFetch is the spec of the tool that fetches pages of the web, with the fields by which rules match tools.
var webFetch = []toolspec.Spec{{Name: "core__web_fetch", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk}}

// fetchesAnyHost reports whether mode auto lets core__web_fetch fetch pages of any host without an approval. It is
// false if a rule for every actor denies its calls, asks for them or raises their risk, with no condition or with
// a condition that uses host(…). It does not read which hosts such a condition names. Mode yolo has a warning of
// its own, and mode ask asks.
func fetchesAnyHost(t document.Tenant, rules []policy.Rule) bool {
	mode := t.Mode
	if at := slices.IndexFunc(t.Overrides, func(o document.Override) bool { return o.Mode != "" && o.Tool.Matches(webFetch[0].Name) }); at >= 0 {
		mode = t.Overrides[at].Mode
	}
	if mode != document.Auto || !document.MatchesAny(t.AllowedTools, webFetch[0].Name) {
		return false
	}
	return !slices.ContainsFunc(rules, func(r policy.Rule) bool {
		if r.Class == policy.Allowing || len(r.Roles) > 0 || len(r.Matching(webFetch)) == 0 {
			return false
		}
		condition, _ := r.Condition() // nil also for a rule that Pawl adds
		return r.Unconditional() || condition != nil && strings.Contains(condition.Text(), "host(")
	})
}
