package document

import (
	"github.com/pawl-run/pawl/policy/strictyaml"
	"go.yaml.in/yaml/v4"
)

// features reads the flags of a tenant, each with its tools.
func (r *reader) features(n *yaml.Node, path string) map[string]Feature {
	features := map[string]Feature{}
	r.Entries(n, path, MaxFeatures, func(flag string, at, value *yaml.Node) {
		here := strictyaml.Join(path, flag)
		if r.name(flag, at, here, "a flag") {
			features[flag] = r.feature(value, here)
		}
	})
	return features
}

// feature reads one flag. It refuses roles for a flag that is off: they would have no effect.
func (r *reader) feature(n *yaml.Node, path string) Feature {
	f := Feature{Tools: []Pattern{}}
	before := len(r.Faults())
	var rolesAt *yaml.Node
	r.Mapping(n, path,
		field{Name: "tools", Required: `is missing; name the tools that need the feature, or write ["*"]`, Read: func(n *yaml.Node, path string) {
			r.List(n, path, MaxRules, func(n *yaml.Node, path string) { f.Tools = append(f.Tools, r.toolPattern(n, path)) })
			r.NotEmpty(n, path, "name the tools that need the feature")
		}},
		field{Name: "enabled", Required: "is missing; write true or false", Read: func(n *yaml.Node, path string) { f.Enabled = r.Flag(n, path) }},
		field{Name: "roles", Read: func(n *yaml.Node, path string) {
			rolesAt = n
			f.Roles = r.roleNames(n, path)
		}},
		field{Name: "message", Read: func(n *yaml.Node, path string) { f.Message = r.message(n, path) }},
	)
	if len(r.Faults()) == before && rolesAt != nil && !f.Enabled {
		r.Fail(rolesAt, path+".roles", "goes with enabled: true, and says for whom")
	}
	return f
}

// overrides reads the settings that differ for some tools. For each setting, the first entry that
// matches the tool and has the setting decides. Two entries for the same pattern are a fault, because
// the first could hide the second.
func (r *reader) overrides(n *yaml.Node, path string) []Override {
	var list []Override
	seen := map[Pattern]bool{}
	r.List(n, path, MaxOverrides, func(n *yaml.Node, path string) {
		var o Override
		before := len(r.Faults())
		r.Mapping(n, path,
			field{Name: "tool", Required: "is missing", Read: func(n *yaml.Node, path string) {
				o.Tool = r.toolPattern(n, path)
				if o.Tool != "" && seen[o.Tool] {
					r.Fail(n, path, "has an entry already; write both into one")
				}
				seen[o.Tool] = true
			}},
			field{Name: "mode", Read: func(n *yaml.Node, path string) { o.Mode = strictyaml.OneOf(r.Reader, n, path, Yolo, Auto, Ask) }},
			field{Name: "budgets", Read: func(n *yaml.Node, path string) { o.Budgets = r.budgets(n, path) }},
			field{Name: "approvals", Read: func(n *yaml.Node, path string) { o.Approvals = r.approversOf(n, path) }},
		)
		if len(r.Faults()) == before && o.Mode == "" && o.Budgets == (Budgets{}) && o.Approvals.IsZero() {
			r.Fail(n, path, "changes nothing; it needs a mode, budgets or approvals")
		}
		list = append(list, o)
	})
	return list
}
