package policy

import (
	"github.com/pawl-run/pawl/policy/authz"
	"go.yaml.in/yaml/v4"
)

// Permissions says where the permissions of a tenant come from: the policy itself,
// or relations. Of a tenant that the policy does not know it is relations, which permit
// nothing that nobody wrote down.
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

// permissions reads where permissions come from. Written out or left out, policy is
// the same document.
func (r *reader) permissions(n *yaml.Node, path string) authz.Basis {
	if basis := oneOf(r, n, path, authz.ByPolicy, authz.ByRelations); basis != authz.ByPolicy {
		return basis
	}
	return ""
}
