package document

import (
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/policy/suggest"
	"go.yaml.in/yaml/v4"
)

// roles reads the roles of a tenant and the identities that have them.
func (r *reader) roles(n *yaml.Node, path string) map[string]Members {
	roles := map[string]Members{}
	r.Entries(n, path, MaxRoles, func(name string, at, value *yaml.Node) {
		here := strictyaml.Join(path, name)
		if !r.name(name, at, here, "a role") {
			return
		}
		patterns := []Pattern{}
		r.List(value, here, MaxApprovers, func(n *yaml.Node, path string) {
			member := r.identityPattern(n, path)
			if strings.HasPrefix(string(member), authz.RolePrefix) && !r.recorded {
				r.Fail(n, path, "is a role: the members of a role are identities, such as user:ann")
			}
			patterns = append(patterns, member)
		})
		roles[name] = patterns
	})
	return roles
}

// name reports whether a name that the document introduces is valid, and adds a fault if it is not. what is the
// kind of name, for the fault: `a role` or `a flag`.
func (r *reader) name(name string, at *yaml.Node, path, what string) bool {
	switch {
	case name == "":
		r.Fail(at, path, "%s has no name", what)
	case len(name) > MaxName:
		r.Fail(at, path, "the name of %s is longer than %d characters", what, MaxName)
	case strings.Trim(name, idCharacters) != "":
		r.Fail(at, path, "the name of %s may hold only letters, digits, '_' and '-'", what)
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

// roleNames reads a list of names of roles; an actor needs only one of the roles. checkRoles checks later that the tenant
// has the roles, because the document may define them further down.
func (r *reader) roleNames(n *yaml.Node, path string) []string {
	var names []string
	r.List(n, path, MaxRoles, func(n *yaml.Node, path string) {
		name, ok := r.Text(n, path, MaxName)
		switch {
		case !ok:
		case slices.Contains(names, name):
			r.Fail(n, path, "is there twice")
		default:
			names = append(names, name)
			r.named = append(r.named, namedRole{name, n, path})
		}
	})
	r.NotEmpty(n, path, "leave it out for everybody")
	return names
}

// checkRoles refuses roles that the tenant does not have: a rule for such a role would never
// match.
func (r *reader) checkRoles(roles map[string]Members) {
	known := slices.Sorted(maps.Keys(roles))
	for _, used := range r.named {
		switch like := suggest.Nearest(used.name, known); {
		case slices.Contains(known, used.name):
		case like != "":
			r.Fail(used.at, used.path, "is no role of this tenant; did you mean %s?", like)
		case len(known) == 0:
			r.Fail(used.at, used.path, "is no role of this tenant, which has none; add it to roles")
		default:
			r.Fail(used.at, used.path, "is no role of this tenant; there are %s", strings.Join(known, ", "))
		}
	}
}
