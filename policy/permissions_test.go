package policy

import (
	"slices"
	"testing"

	"github.com/pawl-run/pawl/policy/authz"
)

// TestPermissions: policy is the authorization of a tenant that does not say otherwise, and a document that says so is the same document.
func TestPermissions(t *testing.T) {
	p := mustParse(t, plainDoc+"    permissions: relations\n  globex: {allowedTools: [], permissions: policy}\n  initech: {allowedTools: []}\n")
	for id, want := range map[string]authz.Basis{
		"acme": authz.ByRelations, "globex": authz.ByPolicy, "initech": authz.ByPolicy, "unknown": authz.ByRelations,
	} {
		if got := p.Permissions(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	if got := (*Policy)(nil).Permissions("acme"); got != authz.ByRelations {
		t.Errorf("without a policy: %s", got)
	}
	if got := p.TenantsBy(authz.ByPolicy); !slices.Equal(got, []string{"globex", "initech"}) {
		t.Errorf("by policy: %v", got)
	}
	if again := mustParse(t, string(p.Source())); again.Permissions("acme") != authz.ByRelations || again.Digest() != p.Digest() {
		t.Error("what was stored is another document")
	}
	if written, left := mustParse(t, plainDoc+"    permissions: policy\n"), mustParse(t, plainDoc); written.Digest() != left.Digest() {
		t.Error("written out it is another document")
	}
	if _, err := Parse("p", []byte(plainDoc+"    permissions: nobody\n")); err == nil {
		t.Error("a word that nobody knows was read")
	}
}
