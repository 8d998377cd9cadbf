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
	// StatusRevoked: it is gone for good.
	StatusRevoked = "revoked"
)

// AllScopes in a grant stands for every scope of its connection.
const AllScopes = "*"

// Effective is the connections that a call may use: those that are granted and
// that the request names as well, sorted. Neither list means "all" by being empty
// or absent (GRANT_INTERSECTION_REQUIRED; rows CN-04, CN-05, CN-07).
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

// Holder is who must have been granted the connection of a call: the subject for
// whom it is made, else the actor. An actor who acts for somebody uses that
// person's right and not its own. A role or a group is no holder.
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

// Covers reports whether grants to the holder, or to a role that it has, give
// every one of the scopes that a tool needs, of those that the connection has.
// Scopes are gathered from all grants. Without a grant nothing is covered, not
// even a tool that needs no scope, nor with a connection that is revoked.
func Covers(n hook.Connection, roles, needs []string) bool {
	if n.Status == StatusRevoked {
		return false
	}
	granted, all := map[string]bool{}, false
	any := false
	for _, g := range n.Grants {
		if role, isRole := strings.CutPrefix(g.Grantee, RolePrefix); isRole && !g.Held && !slices.Contains(roles, role) {
			continue
		}
		any = true
		for _, s := range g.Scopes {
			granted[s] = true
			all = all || s == AllScopes
		}
	}
	if !any {
		return false
	}
	for _, need := range needs {
		if !slices.Contains(n.Scopes, need) || !all && !granted[need] {
			return false
		}
	}
	return true
}
