package policy

import (
	"slices"

	"github.com/pawl-run/pawl/policy/document"
)

// role is a name for a set of identities.
type role struct {
	name string
	of   []document.Pattern
}

// Roles returns the roles of an identity in a tenant, sorted. There are none if the tenant has no
// policy or the identity is empty.
func (p *Policy) Roles(tenantID, identity string) []string {
	if t := p.tenant(tenantID); t != nil {
		return slices.Clone(t.rolesOf(identity))
	}
	return nil
}

// rolesOf lists the roles of an identity. They are sorted, because t.roles is.
func (t *tenant) rolesOf(identity string) []string {
	if identity == "" {
		return nil
	}
	var names []string
	for _, r := range t.roles {
		if document.MatchesAny(r.of, identity) {
			names = append(names, r.name)
		}
	}
	return names
}
