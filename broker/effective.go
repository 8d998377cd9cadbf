package broker

import (
	"slices"
	"strings"

	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// RolePrefix begins a grantee that is a role.
const RolePrefix = authz.RolePrefix

// The statuses of a connection that is not active.
const (
	// StatusNeedsReauth: somebody has to sign in anew.
	StatusNeedsReauth = "needs_reauth"
	// StatusRevoked: the connection can never be used again.
	StatusRevoked = "revoked"
)

// AllScopes in a grant means every scope of its connection.
const AllScopes = "*"

// Effective returns the connections that a call may use, sorted: the connections that are granted
// and that the request names. An empty or absent list never means "all"
// (GRANT_INTERSECTION_REQUIRED; rows CN-04, CN-05, CN-07).
func Effective(granted, requested []string) []string {
	var both []string
	for _, id := range granted {
		if id != "" && slices.Contains(requested, id) {
			both = append(both, id)
		}
	}
	slices.Sort(both)
	return slices.Compact(both)
}

// Holder returns the identity that needs the grant for the connection of a call: the subject of the
// call, otherwise the actor. An actor that acts for a subject uses the subject's grants and not its
// own. A role or a group cannot be a holder.
func Holder(c toolspec.Context) string {
	holder := c.ActorID
	if c.SubjectID != "" {
		holder = c.SubjectID
	}
	if strings.HasPrefix(holder, RolePrefix) || strings.HasPrefix(holder, "group:") {
		return ""
	}
	return holder
}

// Covers reports whether the grants of the holder, or of its roles, together allow every scope that
// a tool needs and the connection has. Without a grant it returns false, also for a tool that needs
// no scope. For a revoked connection it returns false.
func Covers(n hook.Connection, roles, needs []string) bool {
	missing, granted := Missing(n, roles, needs)
	return granted && len(missing) == 0
}

// Missing returns the scopes that a tool needs and that the grants of the holder, or of its roles,
// do not allow or the connection does not have. granted is false, and missing is nil, if there is no
// grant or the connection is revoked. A caller without a grant must not learn that the connection exists: see IsGranted.
func Missing(n hook.Connection, roles, needs []string) (missing []string, granted bool) {
	if n.Status == StatusRevoked || !IsGranted(n, roles) {
		return nil, false
	}
	allowed, all := map[string]bool{}, false
	for _, g := range n.Grants {
		if !applies(g, roles) {
			continue
		}
		for _, s := range g.Scopes {
			allowed[s] = true
			all = all || s == AllScopes
		}
	}
	for _, need := range needs {
		if !slices.Contains(n.Scopes, need) || !all && !allowed[need] {
			missing = append(missing, need)
		}
	}
	return missing, true
}

// IsGranted reports whether the holder, or one of its roles, has a grant, whatever the grant allows. The holder
// may know that the connection exists, even if the connection is revoked.
func IsGranted(n hook.Connection, roles []string) bool {
	return slices.ContainsFunc(n.Grants, func(g hook.ConnectionGrant) bool { return applies(g, roles) })
}

// applies reports whether a grant is to the holder or to one of its roles. roles are the roles that policy gives.
func applies(g hook.ConnectionGrant, roles []string) bool {
	role, isRole := strings.CutPrefix(g.Grantee, RolePrefix)
	return !isRole || g.Held || slices.Contains(roles, role)
}
