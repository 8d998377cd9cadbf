package policy_test

import (
	"slices"
	"testing"

	"github.com/pawl-run/pawl/policy"
)

// TestMasks: all masks for a tool apply to the tenant's calls, and the stored policy has them too.
func TestMasks(t *testing.T) {
	p, err := policy.Parse("test.yaml", []byte(`
version: 1
tenants:
  acme:
    allowedTools: ["*"]
    mask:
      - {tool: "crm__*", path: /email, with: all}
      - {tool: crm__notes, path: /text, with: "regex:INV-[0-9]+"}
      - {tool: mail__read, path: "", with: card}
      - {tool: "mail__*", stream: true, with: email}
      - {tool: mail__read, stream: true, with: "regex:INV-[0-9]+"}
  "*":
    allowedTools: ["*"]
    mask: [{tool: "*", path: /any, with: phone}]
`))
	if err != nil {
		t.Fatal(err)
	}
	again, err := policy.Parse("stored", p.Source())
	if err != nil || again.Digest() != p.Digest() {
		t.Fatalf("the stored policy is another: %v", err)
	}
	for _, p := range []*policy.Policy{p, again} {
		for _, tc := range []struct {
			tenant, tool string
			want         []string
		}{
			{"acme", "crm__notes", []string{"/email", "/text"}},
			{"acme", "crm__other", []string{"/email"}},
			{"acme", "mail__read", []string{""}},
			{"acme", "web__get", nil},
			{"globex", "crm__notes", []string{"/any"}},
		} {
			if got := p.Masks(tc.tenant, tc.tool).Paths(); !slices.Equal(got, tc.want) {
				t.Errorf("%s %s: %q, want %q", tc.tenant, tc.tool, got, tc.want)
			}
		}
	}
	for _, p := range []*policy.Policy{p, again} {
		for tool, want := range map[string]string{"mail__read": "*** and ***", "mail__list": "*** and INV-1", "crm__notes": "ann@example.org and INV-1"} {
			got := []byte("ann@example.org and INV-1")
			if m := p.StreamMasker("acme", tool); m != nil {
				masked, _, err := m.Mask(got, true)
				if err != nil {
					t.Fatal(err)
				}
				got = []byte(masked)
			}
			if string(got) != want {
				t.Errorf("%s streams %q, want %q", tool, got, want)
			}
		}
	}
	var none *policy.Policy
	if got := none.Masks("acme", "crm__notes"); got != nil || none.StreamMasker("acme", "crm__notes") != nil {
		t.Errorf("no policy masks %v", got)
	}
}
