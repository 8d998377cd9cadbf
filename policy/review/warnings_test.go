package review

import (
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy"
)

func TestWarnings(t *testing.T) {
	none := []string{"no policy is active: every call is denied"}
	if got := Warnings(nil); !slices.Equal(got, none) {
		t.Errorf("%q", got)
	}
	p := mustParse(t, `
version: 1
tenants:
  b: {allowedTools: ["*"], mode: yolo, approvals: {allowSelfApproval: true}}
  a: {allowedTools: [core__read_file], mode: auto}
  c: {allowedTools: [core__*], approvals: {enabled: false, allowUnsigned: true, allowSelfApproval: true}}
`)
	want := []string{
		"tenant b: requesters may approve their own calls",
		"tenant b: mode yolo asks nobody, whatever the risk",
		"tenant b: allowedTools holds *: tools that are added later are allowed too",
	}
	if got := Warnings(p); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	want = []string{"tenant acme: unsigned approval decisions count; do not use in production"}
	if got := Warnings(policy.Development()); !slices.Equal(got, want) {
		t.Errorf("of the development policy: %q", got)
	}
}

func TestWarningsOfAnyHost(t *testing.T) {
	const listed, another = `"!(host(args.url) in ['go.dev'])"`, `"args.url.contains('x')"`
	rule := func(decision, condition string) string {
		return `{allowedTools: [core__*], mode: auto, rules: [{tool: "core__web_*", decision: ` + decision + `, when: ` + condition + `}]}`
	}
	for tenant, warned := range map[string]bool{
		`{allowedTools: [core__*], mode: auto}`:                                            true,
		`{allowedTools: [core__web_search], mode: auto}`:                                   false,
		`{allowedTools: [core__*], mode: ask}`:                                             false,
		`{allowedTools: [core__*], mode: auto, requireApprovalForEffects: [read_only]}`:    false,
		`{allowedTools: [core__*], mode: auto, requireApprovalForEffects: [state_change]}`: true,
		rule("deny", listed):              false,
		rule("require_approval", listed):  false,
		rule("allow", listed):             true,
		rule("require_approval", another): true,
		`{allowedTools: [core__*], mode: auto, roles: {intern: ["agent:*"]}, rules: [{tool: core__web_fetch, decision: deny, roles: [intern]}]}`: true,
		`{allowedTools: [core__*], mode: ask, overrides: [{tool: core__web_fetch, mode: auto}]}`:                                                 true,
		`{allowedTools: [core__*], mode: auto, overrides: [{tool: core__web_fetch, mode: ask}]}`:                                                 false,
	} {
		found := slices.ContainsFunc(Warnings(mustParse(t, "version: 1\ntenants:\n  acme: "+tenant+"\n")), func(line string) bool {
			return strings.HasPrefix(line, "tenant acme: core__web_fetch fetches pages of every host")
		})
		if found != warned {
			t.Errorf("%s: warned %v, want %v", tenant, found, warned)
		}
	}
}
