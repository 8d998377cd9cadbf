package policy

import (
	"github.com/pawl-run/pawl/policy/authz"
	"go.yaml.in/yaml/v4"
)

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
	for _, id := range p.tenantIDs() {
		if p.tenants[id].basis == basis {
			ids = append(ids, id)
		}
	}
	return ids
}

// permissions reads the source of the permissions. `policy` is the default, so writing it out
// gives the same document.
func (r *reader) permissions(n *yaml.Node, path string) authz.Basis {
	if basis := oneOf(r, n, path, authz.ByPolicy, authz.ByRelations); basis != authz.ByPolicy {
		return basis
	}
	return ""
}
