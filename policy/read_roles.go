package policy

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// roles reads the roles of a tenant and the identities that have them.
func (r *reader) roles(n *yaml.Node, path string) map[string][]Pattern {
	roles := map[string][]Pattern{}
	if n.Kind == yaml.MappingNode && len(n.Content)/2 > MaxRoles {
		r.fail(n, path, "has more than %d entries", MaxRoles)
		return roles
	}
	r.entries(n, path, func(name string, at, value *yaml.Node) {
		here := join(path, name)
		if !r.name(name, at, here, "a role") {
			return
		}
		patterns := []Pattern{}
		r.list(value, here, MaxApprovers, func(n *yaml.Node, path string) {
			patterns = append(patterns, r.identityPattern(n, path))
		})
		roles[name] = patterns
	})
	return roles
}

// maxName is the maximum length of the name of a role or a flag, in characters.
const maxName = 64

// name checks a name that the document introduces; what is `a role` or `a flag`.
func (r *reader) name(name string, at *yaml.Node, path, what string) bool {
	switch {
	case name == "":
		r.fail(at, path, "%s has no name", what)
	case len(name) > maxName:
		r.fail(at, path, "the name of %s is longer than %d characters", what, maxName)
	case strings.Trim(name, idCharacters) != "":
		r.fail(at, path, "the name of %s may hold only letters, digits, '_' and '-'", what)
	default:
		return true
	}
	return false
}

// namedRole is a mention of a role in a document.
type namedRole struct {
	name string
	at   *yaml.Node
	path string
}

// roleNames reads a list of roles of the tenant; one of them suffices. checkRoles checks that
// they exist, after the whole entry is read.
func (r *reader) roleNames(n *yaml.Node, path string) []string {
	var names []string
	r.list(n, path, MaxRoles, func(n *yaml.Node, path string) {
		name, ok := r.text(n, path, maxName)
		switch {
		case !ok:
		case slices.Contains(names, name):
			r.fail(n, path, "is there twice")
		default:
			names = append(names, name)
			r.named = append(r.named, namedRole{name, n, path})
		}
	})
	r.notEmpty(n, path, "leave it out for everybody")
	return names
}

// checkRoles refuses roles that the tenant does not have: a rule for such a role would never
// match.
func (r *reader) checkRoles(roles map[string][]Pattern) {
	known := sortedKeys(roles)
	for _, used := range r.named {
		switch like := nearest(used.name, known); {
		case slices.Contains(known, used.name):
		case like != "":
			r.fail(used.at, used.path, "is no role of this tenant; did you mean %s?", like)
		case len(known) == 0:
			r.fail(used.at, used.path, "is no role of this tenant, which has none; add it to roles")
		default:
			r.fail(used.at, used.path, "is no role of this tenant; there are %s", strings.Join(known, ", "))
		}
	}
}
