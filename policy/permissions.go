package policy

import "github.com/pawl-run/pawl/policy/authz"

// Permissions returns the source of a tenant's permissions: the policy itself, or relations. For
// a tenant that the policy does not have it returns relations, which permit only what somebody
// has written down.
func (p *Policy) Permissions(tenantID string) authz.Basis {
	if t := p.tenant(tenantID); t != nil {
		return t.basis
	}
	return authz.ByRelations
}

// TenantsBy lists the tenants whose permissions come from basis, sorted.
func (p *Policy) TenantsBy(basis authz.Basis) []string {
	if p == nil {
		return nil
	}
	var ids []string
	for _, id := range p.Tenants() {
		if p.tenants[id].basis == basis {
			ids = append(ids, id)
		}
	}
	return ids
}
