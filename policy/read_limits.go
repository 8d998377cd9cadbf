package policy

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"
)

// limits reads the limits of a tenant. It refuses two limits that count the same calls in the
// same way, because they would share their count.
func (r *reader) limits(n *yaml.Node, path string) []limitDoc {
	var limits []limitDoc
	first := map[string]int{}
	r.list(n, path, MaxLimits, func(n *yaml.Node, here string) {
		before := len(r.faults)
		l := r.limit(n, here)
		if len(r.faults) == before {
			if i, twice := first[l.counts()]; twice {
				r.fail(n, here, "counts the same as limits[%d]; write one of them", i)
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
func (r *reader) limit(n *yaml.Node, path string) limitDoc {
	l := limitDoc{Then: ThenFail}
	before := len(r.faults)
	var waitAt *yaml.Node
	r.mapping(n, path,
		field{name: "tool", required: `is missing; write "*" for every tool`, read: func(n *yaml.Node, path string) {
			l.Tool = r.toolPattern(n, path)
		}},
		field{name: "per", read: func(n *yaml.Node, path string) { l.Per = r.scopes(n, path) }},
		field{name: "quota", read: func(n *yaml.Node, path string) { l.Quota = r.quota(n, path) }},
		field{name: "concurrent", read: func(n *yaml.Node, path string) { l.Concurrent = r.number(n, path, maxConcurrent) }},
		field{name: "then", read: func(n *yaml.Node, path string) { l.Then = oneOf(r, n, path, ThenWait, ThenFail) }},
		field{name: "waitFor", read: func(n *yaml.Node, path string) {
			waitAt = n
			l.WaitFor = r.expiry(n, path)
		}},
	)
	switch {
	case len(r.faults) > before: // one fault at a time
	case (l.Quota.Tokens > 0) == (l.Concurrent > 0):
		r.fail(n, path, "needs either a quota or concurrent; for both write two limits")
	case waitAt != nil && l.Then != ThenWait:
		r.fail(waitAt, path+".waitFor", "goes with then: wait")
	}
	return l
}

// scopes reads the scopes of a limit. Their order has no meaning. Calls of different tenants are
// always counted separately.
func (r *reader) scopes(n *yaml.Node, path string) []Scope {
	order := []Scope{PerTool, PerActor, PerConnection}
	written := map[Scope]bool{}
	r.list(n, path, len(order)+1, func(n *yaml.Node, path string) {
		scope := oneOf(r, n, path, PerTenant, PerTool, PerActor, PerConnection)
		if scope != "" && written[scope] {
			r.fail(n, path, "is there twice")
		}
		written[scope] = true
	})
	r.notEmpty(n, path, fmt.Sprintf("leave it out for the whole %s", PerTenant))
	return slices.DeleteFunc(order, func(s Scope) bool { return !written[s] })
}

func (r *reader) quota(n *yaml.Node, path string) quotaDoc {
	var q quotaDoc
	r.mapping(n, path,
		field{name: "tokens", required: "is missing; it is how many calls a full bucket lets through", read: func(n *yaml.Node, path string) {
			q.Tokens = r.number(n, path, maxTokens)
		}},
		field{name: "every", required: "is missing; it is the time in which an empty bucket fills", read: func(n *yaml.Node, path string) {
			q.Every = r.expiry(n, path)
		}},
	)
	return q
}
