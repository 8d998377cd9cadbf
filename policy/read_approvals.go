package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/toolspec"
)

// defaultApprovals returns the approvals of a tenant that sets none.
func defaultApprovals() approvalsDoc {
	return approvalsDoc{Enabled: true, approversDoc: approversDoc{ExpiresAfter: DefaultExpiry.String()}}
}

// approvals reads the approvals of a tenant into a, which holds the defaults.
func (r *reader) approvals(n *yaml.Node, path string, a *approvalsDoc) {
	flag := func(into *bool) func(n *yaml.Node, path string) {
		return func(n *yaml.Node, path string) { *into = r.flag(n, path) }
	}
	fields := []field{{name: "enabled", read: flag(&a.Enabled)}}
	fields = append(fields, r.approversFields(&a.approversDoc)...)
	r.mapping(n, path, append(fields,
		field{name: "parkUnknown", read: func(n *yaml.Node, path string) { a.ParkUnknown = r.expiry(n, path) }},
		field{name: "allowSelfApproval", read: flag(&a.AllowSelfApproval)},
		field{name: "allowUnsigned", read: flag(&a.AllowUnsigned)},
		field{name: "remindAfter", read: func(n *yaml.Node, path string) { a.RemindAfter = r.expiry(n, path) }},
		field{name: "escalate", read: func(n *yaml.Node, path string) { a.Escalate = r.escalations(n, path) }},
		field{name: "remember", read: func(n *yaml.Node, path string) {
			r.mapping(n, path,
				field{name: "for", required: "is missing; say how long, such as 7d", read: func(n *yaml.Node, path string) { a.Remember.For = r.expiry(n, path) }},
				field{name: "anyArgs", read: flag(&a.Remember.AnyArgs)},
				field{name: "anyActor", read: flag(&a.Remember.AnyActor)},
			)
		}},
	)...)
	a.Quorum = leastQuorum(a.Quorum)
	if a.Remember.For != "" && (a.Quorum > 1 || len(a.Chain) > 0) {
		r.fail(n, join(path, "remember"), "stands beside quorum or chain; what several people approve is approved for one call")
	}
	r.timely(n, path, *a)
	r.onePlace(n, path, a.approversDoc)
}

// approversFields returns the fields that say who approves and how long a request stays open.
func (r *reader) approversFields(a *approversDoc) []field {
	return []field{
		{name: "expiresAfter", read: func(n *yaml.Node, path string) { a.ExpiresAfter = r.expiry(n, path) }},
		{name: "approvers", read: func(n *yaml.Node, path string) { a.Approvers = r.approvers(n, path) }},
		{name: "quorum", read: func(n *yaml.Node, path string) { a.Quorum = r.number(n, path, MaxQuorum) }},
		{name: "chain", read: func(n *yaml.Node, path string) {
			r.list(n, path, MaxSeats, func(n *yaml.Node, path string) { a.Chain = append(a.Chain, r.seat(n, path)) })
			r.notEmpty(n, path, "leave it out where one approval is enough")
		}},
	}
}

// approversOf reads the approvals of a rule or an override.
func (r *reader) approversOf(n *yaml.Node, path string) (a approversDoc) {
	before := len(r.faults)
	r.mapping(n, path, r.approversFields(&a)...)
	if len(r.faults) == before && a.isZero() {
		r.fail(n, path, "says nothing; it needs approvers, quorum, chain or expiresAfter")
	}
	r.onePlace(n, path, a)
	if a.Quorum > 0 && a.Approvers == nil && a.Chain == nil {
		r.quorums = append(r.quorums, bareQuorum{a.Quorum, n, path})
	}
	return a
}

// bareQuorum is a quorum of a rule or an override without approvers.
type bareQuorum struct {
	quorum int64
	at     *yaml.Node
	path   string
}

// checkQuorums refuses a quorum without approvers if it is not clear of whom, or if the people
// whom the tenant names are too few.
func (r *reader) checkQuorums(t tenantDoc) {
	chained := t.Approvals.Chain != nil || slices.ContainsFunc(t.Overrides, func(o overrideDoc) bool { return o.Approvals.Chain != nil })
	for _, q := range r.quorums {
		if chained {
			r.fail(q.at, q.path, "has a quorum without approvers, and other approvals of the tenant have a chain; name the approvers")
			continue
		}
		r.reachable(q.at, q.path, seatDoc{Approvers: t.Approvals.Approvers, Quorum: q.quorum})
	}
}

// onePlace refuses a chain beside what belongs to its entries, and a quorum that cannot be
// reached.
func (r *reader) onePlace(n *yaml.Node, path string, a approversDoc) {
	switch {
	case a.Chain == nil:
		r.reachable(n, path, seatDoc{Approvers: a.Approvers, Quorum: a.Quorum})
	case a.Approvers != nil || a.Quorum != 0:
		r.fail(n, join(path, "chain"), "stands beside approvers or quorum; they belong to its entries")
	}
}

// reachable refuses a quorum that is greater than the number of named people.
func (r *reader) reachable(n *yaml.Node, path string, s seatDoc) {
	open := slices.ContainsFunc(s.Approvers, func(p Pattern) bool {
		return strings.HasSuffix(string(p), "*") || strings.HasPrefix(string(p), rolePrefix)
	})
	if people := len(sorted(s.Approvers)); people > 0 && !open && int64(people) < s.Quorum {
		r.fail(n, join(path, "quorum"), "asks for %d approvals and names %d people", s.Quorum, people)
	}
}

// seat reads an entry of chain.
func (r *reader) seat(n *yaml.Node, path string) (s seatDoc) {
	r.mapping(n, path,
		field{name: "name", read: func(n *yaml.Node, path string) { s.Name, _ = r.text(n, path, maxSeatName) }},
		field{name: "approvers", read: func(n *yaml.Node, path string) { s.Approvers = r.approvers(n, path) }},
		field{name: "quorum", read: func(n *yaml.Node, path string) { s.Quorum = leastQuorum(r.number(n, path, MaxQuorum)) }},
	)
	r.reachable(n, path, s)
	return s
}

// maxSeatName is the maximum length of the name of a seat, in characters.
const maxSeatName = 100

func (r *reader) approvers(n *yaml.Node, path string) (patterns []Pattern) {
	r.list(n, path, MaxApprovers, func(n *yaml.Node, path string) {
		patterns = append(patterns, r.identityPattern(n, path))
	})
	// An empty list looks like "nobody" but would mean "anyone".
	r.notEmpty(n, path, "leave it out for anyone but the requester")
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

// expiry reads a duration, such as 90s, 1h30m or 7d, and returns it in Go's notation.
func (r *reader) expiry(n *yaml.Node, path string) string {
	const want = "a duration such as 90s, 1h30m or 7d"
	v, ok := r.scalar(n, path, "!!str", want)
	if !ok {
		return ""
	}
	d, ok := duration(v)
	switch {
	case !ok:
		r.fail(n, path, "must be %s", want)
	case d < MinExpiry || d > MaxExpiry:
		r.fail(n, path, "must be between 1s and 30d")
	case d%time.Second != 0:
		r.fail(n, path, "must be whole seconds")
	default:
		return d.String()
	}
	return ""
}

// duration parses Go's notation, or a whole number of days.
func duration(s string) (time.Duration, bool) {
	if days, found := strings.CutSuffix(s, "d"); found {
		n, err := strconv.ParseUint(days, 10, 8)
		return time.Duration(n) * 24 * time.Hour, err == nil
	}
	d, err := time.ParseDuration(s)
	return d, err == nil
}

// identityPattern reads an identity, or a prefix of identities and `*`.
func (r *reader) identityPattern(n *yaml.Node, path string) Pattern {
	v, ok := r.text(n, path, maxIdentity+1)
	if !ok {
		return ""
	}
	if strings.Contains(strings.TrimSuffix(v, "*"), "*") {
		r.fail(n, path, "* may stand only at the end")
		return ""
	}
	// More characters follow a prefix, so it may end in a space.
	name := v
	if prefix, glob := strings.CutSuffix(v, "*"); glob {
		name = prefix + "x"
	}
	if err := toolspec.CheckVisible("the name", name, maxIdentity+1); err != nil && !r.recorded {
		r.fail(n, path, "%v", err)
		return ""
	}
	if role, ok := strings.CutPrefix(v, rolePrefix); ok && (role == "" || strings.Contains(role, "*")) {
		r.fail(n, path, "names a role exactly: role:security")
		return ""
	}
	return Pattern(v)
}
