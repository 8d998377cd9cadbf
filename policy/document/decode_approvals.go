package document

import (
	"slices"
	"strings"

	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
	"go.yaml.in/yaml/v4"
)

// DefaultApprovals returns the approvals of a tenant that sets none.
func DefaultApprovals() Approvals {
	return Approvals{Enabled: true, RuleApprovals: RuleApprovals{ExpiresAfter: Duration(DefaultExpiry.String())}}
}

// approvals reads the approvals of a tenant into a, which holds the defaults.
func (r *reader) approvals(n *yaml.Node, path string, a *Approvals) {
	flag := func(into *bool) func(n *yaml.Node, path string) {
		return func(n *yaml.Node, path string) { *into = r.Flag(n, path) }
	}
	fields := []field{{Name: "enabled", Read: flag(&a.Enabled)}}
	fields = append(fields, r.approversFields(&a.RuleApprovals)...)
	r.Mapping(n, path, append(fields,
		field{Name: "parkUnknown", Read: func(n *yaml.Node, path string) { a.ParkUnknown = r.duration(n, path) }},
		field{Name: "allowSelfApproval", Read: flag(&a.AllowSelfApproval)},
		field{Name: "allowUnsigned", Read: flag(&a.AllowUnsigned)},
		field{Name: "remindAfter", Read: func(n *yaml.Node, path string) { a.RemindAfter = r.duration(n, path) }},
		field{Name: "escalate", Read: func(n *yaml.Node, path string) { a.Escalate = r.escalations(n, path) }},
		field{Name: "remember", Read: func(n *yaml.Node, path string) {
			r.Mapping(n, path,
				field{Name: "for", Required: "is missing; say how long, such as 7d", Read: func(n *yaml.Node, path string) { a.Remember.For = r.duration(n, path) }},
				field{Name: "anyArgs", Read: flag(&a.Remember.AnyArgs)},
				field{Name: "anyActor", Read: flag(&a.Remember.AnyActor)},
			)
		}},
	)...)
	a.Quorum = leastQuorum(a.Quorum)
	if a.Remember.For != "" && (a.Quorum > 1 || len(a.Chain) > 0) {
		r.Fail(n, strictyaml.Join(path, "remember"), "stands beside quorum or chain; what several people approve is approved for one call")
	}
	r.checkSteps(n, path, *a)
	r.onePlace(n, path, a.RuleApprovals)
}

// approversFields returns the fields that say who approves and how long a request stays open.
func (r *reader) approversFields(a *RuleApprovals) []field {
	return []field{
		{Name: "expiresAfter", Read: func(n *yaml.Node, path string) { a.ExpiresAfter = r.duration(n, path) }},
		{Name: "approvers", Read: func(n *yaml.Node, path string) { a.Approvers = r.approvers(n, path) }},
		{Name: "quorum", Read: func(n *yaml.Node, path string) { a.Quorum = r.Number(n, path, MaxQuorum) }},
		{Name: "chain", Read: func(n *yaml.Node, path string) {
			r.List(n, path, MaxChain, func(n *yaml.Node, path string) { a.Chain = append(a.Chain, r.entry(n, path)) })
			r.NotEmpty(n, path, "leave it out where one approval is enough")
		}},
	}
}

// approversOf reads the approvals of a rule or an override.
func (r *reader) approversOf(n *yaml.Node, path string) (a RuleApprovals) {
	before := len(r.Faults())
	r.Mapping(n, path, r.approversFields(&a)...)
	if len(r.Faults()) == before && a.IsZero() {
		r.Fail(n, path, "says nothing; it needs approvers, quorum, chain or expiresAfter")
	}
	r.onePlace(n, path, a)
	if a.Quorum > 0 && a.Approvers == nil && a.Chain == nil {
		r.quorums = append(r.quorums, bareQuorum{quorum: a.Quorum, at: n, path: path})
	}
	return a
}

// bareQuorum is a quorum of a rule or an override without approvers.
type bareQuorum struct {
	quorum int64
	// tool is the pattern of a rule; empty for an override.
	tool Pattern
	at   *yaml.Node
	path string
}

// checkQuorums checks each quorum that a rule or an override sets without approvers. Such a quorum
// is for the approvers of the tenant, or for those of an override. It is refused if they are too few people, or if other
// approvals of the tenant have a chain: then it is not clear which approvers are meant.
func (r *reader) checkQuorums(t Tenant) {
	chained := t.Approvals.Chain != nil || slices.ContainsFunc(t.Overrides, func(o Override) bool { return o.Approvals.Chain != nil })
	for _, q := range r.quorums {
		if chained {
			r.Fail(q.at, q.path, "has a quorum without approvers, and other approvals of the tenant have a chain; name the approvers")
			continue
		}
		for _, approvers := range r.approversBefore(t, q) {
			r.reachable(q.at, q.path, ChainEntry{Approvers: approvers, Quorum: q.quorum})
		}
	}
}

// approversBefore returns the approvers that tools of a quorum can have without it: those of each override that is the
// first for one of the tools and, unless the overrides cover all of the tools, those of the tenant. For an override, and in a
// document that was recorded before overrides counted here, it returns those of the tenant only.
func (r *reader) approversBefore(t Tenant, q bareQuorum) (all []Approvers) {
	var first []Pattern
	ofTenant := true
	for _, o := range t.Overrides {
		isLater := slices.ContainsFunc(first, func(p Pattern) bool { return p.Covers(o.Tool) })
		if r.recorded || q.tool == "" || isLater || o.Approvals.IsZero() || !o.Tool.Overlaps(q.tool) {
			continue
		}
		first = append(first, o.Tool)
		if o.Approvals.Approvers != nil {
			all = append(all, o.Approvals.Approvers)
			ofTenant = ofTenant && !o.Tool.Covers(q.tool)
		}
	}
	if ofTenant {
		all = append(all, t.Approvals.Approvers)
	}
	return all
}

// onePlace refuses a chain beside approvers or a quorum, which belong in the entries of the
// chain. It also refuses a quorum that cannot be reached.
func (r *reader) onePlace(n *yaml.Node, path string, a RuleApprovals) {
	switch {
	case a.Chain == nil:
		r.reachable(n, path, ChainEntry{Approvers: a.Approvers, Quorum: a.Quorum})
	case a.Approvers != nil || a.Quorum != 0:
		r.Fail(n, strictyaml.Join(path, "chain"), "stands beside approvers or quorum; they belong to its entries")
	}
}

// reachable refuses a quorum that is greater than the number of named people. It accepts any quorum if no approver
// is named, or if an approver is a prefix or a role, which can match any number of people. It also adds the
// approvers to r.approving.
func (r *reader) reachable(n *yaml.Node, path string, s ChainEntry) {
	r.addApprovers(n, path, s.Approvers, s.Quorum)
	anyNumber := slices.ContainsFunc(s.Approvers, func(p Pattern) bool {
		return strings.HasSuffix(string(p), "*") || strings.HasPrefix(string(p), authz.RolePrefix)
	})
	if people := len(slices.Compact(slices.Sorted(slices.Values(s.Approvers)))); people > 0 && !anyNumber && int64(people) < s.Quorum {
		r.Fail(n, strictyaml.Join(path, "quorum"), "asks for %d approvals and names %d people", s.Quorum, people)
	}
}

// addApprovers adds the approvers at path to r.approving, if there are any.
func (r *reader) addApprovers(n *yaml.Node, path string, approvers Approvers, quorum int64) {
	if len(approvers) > 0 {
		r.approving = append(r.approving, NamedApprovers{TenantID: r.tenantID, Approvers: approvers, Quorum: quorum, At: r.Position(n, ""), Path: path})
	}
}

// entry reads an entry of chain.
func (r *reader) entry(n *yaml.Node, path string) (s ChainEntry) {
	r.Mapping(n, path,
		field{Name: "name", Read: func(n *yaml.Node, path string) { s.Name, _ = r.Text(n, path, maxEntryName) }},
		field{Name: "approvers", Read: func(n *yaml.Node, path string) { s.Approvers = r.approvers(n, path) }},
		field{Name: "quorum", Read: func(n *yaml.Node, path string) { s.Quorum = leastQuorum(r.Number(n, path, MaxQuorum)) }},
	)
	r.reachable(n, path, s)
	return s
}

func (r *reader) approvers(n *yaml.Node, path string) (patterns []Pattern) {
	r.List(n, path, MaxApprovers, func(n *yaml.Node, path string) {
		patterns = append(patterns, r.identityPattern(n, path))
	})
	// An empty list looks like "nobody" but would mean "anyone".
	r.NotEmpty(n, path, "leave it out for anyone but the requester")
	return patterns
}

// leastQuorum returns 0 for a quorum of one, which is the default, so that writing out the
// default does not change the document.
func leastQuorum(q int64) int64 {
	if q > 1 {
		return q
	}
	return 0
}

// identityPattern reads an identity, or a prefix of identities and `*`.
func (r *reader) identityPattern(n *yaml.Node, path string) Pattern {
	v, ok := r.Text(n, path, MaxIdentity+1)
	if !ok {
		return ""
	}
	if strings.Contains(strings.TrimSuffix(v, "*"), "*") {
		r.Fail(n, path, "* may stand only at the end")
		return ""
	}
	// More characters follow a prefix, so it may end in a space.
	name := v
	if prefix, glob := strings.CutSuffix(v, "*"); glob {
		name = prefix + "x"
	}
	if err := toolspec.CheckVisible("the name", name, MaxIdentity+1); err != nil && !r.recorded {
		r.Fail(n, path, "%v", err)
		return ""
	}
	if role, ok := strings.CutPrefix(v, authz.RolePrefix); ok && (role == "" || strings.Contains(role, "*")) {
		r.Fail(n, path, "names a role exactly: role:security")
		return ""
	}
	return Pattern(v)
}
