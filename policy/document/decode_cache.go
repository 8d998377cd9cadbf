package document

import "go.yaml.in/yaml/v4"

// cache reads how long a tenant caches the values of tools. The first entry for a tool decides,
// so a second entry for the same pattern would have no effect.
func (r *reader) cache(n *yaml.Node, path string) []Cache {
	var entries []Cache
	seen := map[Pattern]bool{}
	r.List(n, path, MaxCacheEntries, func(n *yaml.Node, path string) {
		var e Cache
		r.Mapping(n, path,
			field{Name: "tool", Required: `is missing; write "*" for every tool`, Read: func(n *yaml.Node, path string) {
				e.Tool = r.toolPattern(n, path)
				if e.Tool != "" && seen[e.Tool] {
					r.Fail(n, path, "has an entry already, and the first one decides")
				}
				seen[e.Tool] = true
			}},
			field{Name: "for", Required: "is missing; write a duration such as 90s, or never", Read: func(n *yaml.Node, path string) {
				if v, ok := r.Scalar(n, path, "!!str", "never, or a duration such as 90s, 1h30m or 7d"); ok {
					if e.For = CacheTime(v); e.For != Never {
						e.For = CacheTime(r.duration(n, path))
					}
				}
			}},
		)
		entries = append(entries, e)
	})
	return entries
}
