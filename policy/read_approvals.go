package policy

import (
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// approvals reads who may decide over the defaults that a holds.
func (r *reader) approvals(n *yaml.Node, path string, a *approvalsDoc) {
	flag := func(into *bool) func(n *yaml.Node, path string) {
		return func(n *yaml.Node, path string) { *into = r.flag(n, path) }
	}
	r.mapping(n, path,
		field{name: "enabled", read: flag(&a.Enabled)},
		field{name: "expiresAfter", read: func(n *yaml.Node, path string) { a.ExpiresAfter = r.expiry(n, path) }},
		field{name: "parkUnknown", read: func(n *yaml.Node, path string) { a.ParkUnknown = r.expiry(n, path) }},
		field{name: "allowSelfApproval", read: flag(&a.AllowSelfApproval)},
		field{name: "allowUnsigned", read: flag(&a.AllowUnsigned)},
		field{name: "approvers", read: func(n *yaml.Node, path string) {
			r.list(n, path, MaxApprovers, func(n *yaml.Node, path string) {
				a.Approvers = append(a.Approvers, r.identityPattern(n, path))
			})
			// An empty list reads like "nobody" and would mean "anyone".
			r.notEmpty(n, path, "leave it out for anyone but the requester")
		}},
	)
}

// expiry reads a duration, 90s, 1h30m or 7d, and returns it in Go's notation.
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

// duration is Go's notation, or a whole number of days.
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
	return Pattern(v)
}
