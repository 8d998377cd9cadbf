package policy

import "go.yaml.in/yaml/v4"

// features reads the flags of a tenant, each with its tools.
func (r *reader) features(n *yaml.Node, path string) map[string]featureDoc {
	features := map[string]featureDoc{}
	if n.Kind == yaml.MappingNode && len(n.Content)/2 > MaxFeatures {
		r.fail(n, path, "has more than %d entries", MaxFeatures)
		return features
	}
	r.entries(n, path, func(flag string, at, value *yaml.Node) {
		here := join(path, flag)
		if r.name(flag, at, here, "a flag") {
			features[flag] = r.feature(value, here)
		}
	})
	return features
}

func (r *reader) feature(n *yaml.Node, path string) featureDoc {
	f := featureDoc{Tools: []Pattern{}}
	before := len(r.faults)
	var rolesAt *yaml.Node
	r.mapping(n, path,
		field{name: "tools", required: `is missing; name the tools that need the feature, or write ["*"]`, read: func(n *yaml.Node, path string) {
			r.list(n, path, MaxRules, func(n *yaml.Node, path string) { f.Tools = append(f.Tools, r.toolPattern(n, path)) })
			r.notEmpty(n, path, "name the tools that need the feature")
		}},
		field{name: "enabled", required: "is missing; write true or false", read: func(n *yaml.Node, path string) { f.Enabled = r.flag(n, path) }},
		field{name: "roles", read: func(n *yaml.Node, path string) {
			rolesAt = n
			f.Roles = r.roleNames(n, path)
		}},
		field{name: "message", read: func(n *yaml.Node, path string) { f.Message = r.message(n, path) }},
	)
	if len(r.faults) == before && rolesAt != nil && !f.Enabled {
		r.fail(rolesAt, path+".roles", "goes with enabled: true, and says for whom")
	}
	return f
}

// overrides reads the settings that differ for some tools. The first entry with a setting decides
// it, so a second entry for the same pattern could have no effect.
func (r *reader) overrides(n *yaml.Node, path string) []overrideDoc {
	var list []overrideDoc
	seen := map[Pattern]bool{}
	r.list(n, path, MaxOverrides, func(n *yaml.Node, path string) {
		var o overrideDoc
		before := len(r.faults)
		r.mapping(n, path,
			field{name: "tool", required: "is missing", read: func(n *yaml.Node, path string) {
				o.Tool = r.toolPattern(n, path)
				if o.Tool != "" && seen[o.Tool] {
					r.fail(n, path, "has an entry already; write both into one")
				}
				seen[o.Tool] = true
			}},
			field{name: "mode", read: func(n *yaml.Node, path string) { o.Mode = oneOf(r, n, path, Yolo, Auto, Ask) }},
			field{name: "budgets", read: func(n *yaml.Node, path string) { o.Budgets = r.budgets(n, path) }},
			field{name: "approvals", read: func(n *yaml.Node, path string) { o.Approvals = r.approversOf(n, path) }},
		)
		if len(r.faults) == before && o.Mode == "" && o.Budgets == (Budgets{}) && o.Approvals.isZero() {
			r.fail(n, path, "changes nothing; it needs a mode, budgets or approvals")
		}
		list = append(list, o)
	})
	return list
}
