package document

import (
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/policy/strictyaml"
	"go.yaml.in/yaml/v4"
)

// limits reads the limits of a tenant. It refuses two limits that count the same calls in the
// same way, because they would share their count.
func (r *reader) limits(n *yaml.Node, path string) []Limit {
	var limits []Limit
	first := map[string]int{}
	r.List(n, path, MaxLimits, func(n *yaml.Node, here string) {
		before := len(r.Faults())
		l := r.limit(n, here)
		if len(r.Faults()) == before {
			if i, twice := first[l.counts()]; twice {
				r.Fail(n, here, "counts the same as limits[%d]; write one of them", i)
			} else {
				first[l.counts()] = len(limits)
			}
		}
		limits = append(limits, l)
	})
	return limits
}

// limit reads one limit: the calls that it counts (tool, per), the amount (quota or concurrent),
// and what happens to a call beyond it.
func (r *reader) limit(n *yaml.Node, path string) Limit {
	l := Limit{Then: ThenFail}
	before := len(r.Faults())
	var waitAt *yaml.Node
	r.Mapping(n, path,
		field{Name: "tool", Required: `is missing; write "*" for every tool`, Read: func(n *yaml.Node, path string) {
			l.Tool = r.toolPattern(n, path)
		}},
		field{Name: "per", Read: func(n *yaml.Node, path string) { l.Per = r.scopes(n, path) }},
		field{Name: "quota", Read: func(n *yaml.Node, path string) { l.Quota = r.quota(n, path) }},
		field{Name: "concurrent", Read: func(n *yaml.Node, path string) { l.Concurrent = r.Number(n, path, maxConcurrent) }},
		field{Name: "then", Read: func(n *yaml.Node, path string) { l.Then = strictyaml.OneOf(r.Reader, n, path, ThenWait, ThenFail) }},
		field{Name: "waitFor", Read: func(n *yaml.Node, path string) {
			waitAt = n
			l.WaitFor = r.duration(n, path)
		}},
	)
	switch {
	case len(r.Faults()) > before: // one fault at a time
	case (l.Quota.Tokens > 0) == (l.Concurrent > 0):
		r.Fail(n, path, "needs either a quota or concurrent; for both write two limits")
	case waitAt != nil && l.Then != ThenWait:
		r.Fail(waitAt, path+".waitFor", "goes with then: wait")
	}
	return l
}

// scopes reads the scopes of a limit, and returns them in a fixed order, because their order has no meaning. It
// leaves out PerTenant: calls of different tenants are always counted separately.
func (r *reader) scopes(n *yaml.Node, path string) []Scope {
	order := []Scope{PerTool, PerActor, PerConnection}
	written := map[Scope]bool{}
	r.List(n, path, len(order)+1, func(n *yaml.Node, path string) {
		scope := strictyaml.OneOf(r.Reader, n, path, PerTenant, PerTool, PerActor, PerConnection)
		if scope != "" && written[scope] {
			r.Fail(n, path, "is there twice")
		}
		written[scope] = true
	})
	r.NotEmpty(n, path, fmt.Sprintf("leave it out for the whole %s", PerTenant))
	return slices.DeleteFunc(order, func(s Scope) bool { return !written[s] })
}

func (r *reader) quota(n *yaml.Node, path string) Quota {
	var q Quota
	r.Mapping(n, path,
		field{Name: "tokens", Required: "is missing; it is how many calls a full bucket lets through", Read: func(n *yaml.Node, path string) {
			q.Tokens = r.Number(n, path, maxTokens)
		}},
		field{Name: "every", Required: "is missing; it is the time in which an empty bucket fills", Read: func(n *yaml.Node, path string) {
			q.Every = r.duration(n, path)
		}},
	)
	return q
}
