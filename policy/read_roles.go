package policy

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// roles reads which identities have which role.
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

// maxName bounds the name of a role or a flag, in characters.
const maxName = 64

// name checks what the document names itself: `a role`, `a flag`.
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

// namedRole is where a document speaks of a role.
type namedRole struct {
	name string
	at   *yaml.Node
	path string
}

// roleNames reads a list of roles of the tenant, of which one suffices. Which
// there are is known when the whole entry is read: see checkRoles.
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

// checkRoles refuses roles that nobody can have: a rule for them would never
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
