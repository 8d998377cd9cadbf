package policy

import "go.yaml.in/yaml/v4"

// cache reads how long a tenant caches the values of tools. The first entry for a tool decides,
// so a second entry for the same pattern would have no effect.
func (r *reader) cache(n *yaml.Node, path string) []cacheDoc {
	var entries []cacheDoc
	seen := map[Pattern]bool{}
	r.list(n, path, MaxCacheEntries, func(n *yaml.Node, path string) {
		var e cacheDoc
		r.mapping(n, path,
			field{name: "tool", required: `is missing; write "*" for every tool`, read: func(n *yaml.Node, path string) {
				e.Tool = r.toolPattern(n, path)
				if e.Tool != "" && seen[e.Tool] {
					r.fail(n, path, "has an entry already, and the first one decides")
				}
				seen[e.Tool] = true
			}},
			field{name: "for", required: "is missing; write a duration such as 90s, or never", read: func(n *yaml.Node, path string) {
				if v, ok := r.scalar(n, path, "!!str", "never, or a duration such as 90s, 1h30m or 7d"); ok {
					if e.For = v; v != never {
						e.For = r.expiry(n, path)
					}
				}
			}},
		)
		entries = append(entries, e)
	})
	return entries
}
