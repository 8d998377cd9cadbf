package policy

import "slices"

// role is a name for identities.
type role struct {
	name string
	of   []Pattern
}

// Roles returns the roles that an identity has in a tenant, sorted; none where
// the tenant has no policy or the identity is empty.
func (p *Policy) Roles(tenantID, identity string) []string {
	if t := p.tenant(tenantID); t != nil {
		return slices.Clone(t.rolesOf(identity))
	}
	return nil
}

// rolesOf lists the roles in the order of their names, in which they are kept.
func (t *tenant) rolesOf(identity string) []string {
	if identity == "" {
		return nil
	}
	var names []string
	for _, r := range t.roles {
		if matchesAny(r.of, identity) {
			names = append(names, r.name)
		}
	}
	return names
}
