package review

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/policy/suggest"
)

// lintApprovers finds approvers who cannot approve: a role that nobody has, and a quorum that is greater than the
// number of approvers. It reports each role of a tenant only once. If related is nil, the relations are not known.
func lintApprovers(p *policy.Policy, related func(tenantID, role string) bool) (found strictyaml.Errors) {
	reported := map[[2]string]bool{}
	for _, named := range p.Document().Named {
		l := approversLint{tenant: p.Document().Tenants[named.TenantID], named: named, related: related}
		if named.TenantID == document.EveryTenant {
			l.related = nil // each of these tenants has relations of its own
		}
		vacant := l.vacant()
		for _, role := range vacant {
			if key := [2]string{named.TenantID, role}; !reported[key] {
				reported[key] = true
				found = append(found, named.At.Fault(strictyaml.Join(named.Path, "approvers"), l.reasonOfRole(role)))
			}
		}
		if people, counted := l.count(); len(vacant) == 0 && counted && int64(people) < named.Quorum {
			found = append(found, named.At.Fault(strictyaml.Join(named.Path, "quorum"), l.reasonOfQuorum(people)))
		}
	}
	return found
}

// approversLint checks one set of approvers.
type approversLint struct {
	tenant  document.Tenant
	named   document.NamedApprovers
	related func(tenantID, role string) bool
}

// isRelated reports whether a relation gives the role, as far as the relations are known.
func (l approversLint) isRelated(role string) bool {
	return l.related != nil && l.related(l.named.TenantID, role)
}

// vacant returns the roles that nobody has: neither by the policy nor, as far as it is known, by a relation.
func (l approversLint) vacant() (roles []string) {
	for _, role := range l.named.Approvers.Roles() {
		if len(l.tenant.Roles[role]) == 0 && !l.isRelated(role) {
			roles = append(roles, role)
		}
	}
	return roles
}

// count returns the number of people who may approve, with the people whom an escalation adds. counted is false if
// the number is not known, because a prefix matches any number of people or because a relation gives one of the
// roles. It is also false if the approvers have no role: the reader of the document has then compared their number
// with the quorum already.
func (l approversLint) count() (people int, counted bool) {
	if len(l.named.Approvers.Roles()) == 0 {
		return 0, false
	}
	all := slices.Clone(l.named.Approvers)
	for _, e := range l.tenant.Approvals.Escalate {
		all = append(all, e.Approvers...)
	}
	identities := map[document.Pattern]bool{}
	for _, p := range all {
		members := document.Members{p}
		if role, ok := strings.CutPrefix(string(p), authz.RolePrefix); ok {
			if members = l.tenant.Roles[role]; l.isRelated(role) {
				return 0, false
			}
		}
		for _, m := range members {
			if strings.HasSuffix(string(m), "*") {
				return 0, false
			}
			identities[m] = true
		}
	}
	return len(identities), true
}

func (l approversLint) reasonOfRole(role string) string {
	if l.related != nil {
		return fmt.Sprintf("nobody has role:%s: it has no members in roles, and no relation gives it%s", role, l.suggest(role))
	}
	return fmt.Sprintf("role:%s has no members in roles, so only a relation can give it%s", role, l.suggest(role))
}

// suggest returns a question for a role that the tenant may have meant, or "".
func (l approversLint) suggest(role string) string {
	if _, exists := l.tenant.Roles[role]; exists {
		return ""
	}
	if like := suggest.Nearest(role, slices.Sorted(maps.Keys(l.tenant.Roles))); like != "" {
		return fmt.Sprintf("; did you mean role:%s?", like)
	}
	return ""
}

func (l approversLint) reasonOfQuorum(people int) string {
	have := fmt.Sprintf("asks for %d approvals, and the approvers are %d people", l.named.Quorum, people)
	if people == 1 {
		have = fmt.Sprintf("asks for %d approvals, and the only approver is one person", l.named.Quorum)
	}
	if l.related != nil {
		return have + ": no call can be approved"
	}
	return have + ": unless a relation gives a role to more people, no call can be approved"
}
