package toolspec

import (
	"errors"
	"fmt"
	"strings"
)

// The values of the fields of a Scope.
const (
	// Exact is a value of Scope.Args: only the arguments that were approved.
	Exact = "exact"
	// Match is a value of Scope.Args: all arguments whose members fit Scope.Match.
	Match = "match"
	// Same is a value of Scope.Actor and Scope.Session: the actor or the session of the approved call.
	Same = "same"
	// Any is a value of Scope.Args, Scope.Actor and Scope.Session: all arguments, actors or sessions.
	Any = "any"
)

// MaxMatches bounds the members that a remembered approval looks at.
const MaxMatches = 16

// Scope says for which later calls of the same tool an approval is remembered. The zero scope is
// the narrowest: the same arguments by the same actor, in any session, for as long as policy
// allows.
type Scope struct {
	// Args says for which arguments: exact means the approved arguments only, match means all
	// arguments that fit scope.match, and any means all arguments. Empty means exact.
	Args string `json:"args,omitempty"`
	// Match lists the members of the arguments that must match, at most 16. It is required if
	// scope.args is match, and refused otherwise.
	Match []ArgMatch `json:"match,omitempty"`
	// Actor says for which actor: same or any. Empty means same.
	Actor string `json:"actor,omitempty"`
	// Session says for which sessions: same is the session of the approved call, any is every
	// session. Empty means any.
	Session string `json:"session,omitempty"`
	// ForMs is how long the approval is remembered, in milliseconds. 0 means as long as policy says.
	ForMs int64 `json:"forMs,omitempty"`
}

// ArgMatch is a member of the arguments and what it must be.
type ArgMatch struct {
	// Pointer is the JSON pointer (RFC 6901) of the member, such as /path. The member must be a
	// string.
	Pointer string `json:"pointer"`
	// Pattern is the whole string, or a prefix of the string with one * at the end. A string that has
	// the path element .. after the prefix does not match.
	Pattern string `json:"pattern"`
}

// Check returns an error for a scope with an unknown value, with fields that contradict each other,
// or with an invalid match.
func (s Scope) Check() error {
	switch {
	case s.Args != "" && s.Args != Exact && s.Args != Match && s.Args != Any:
		return fmt.Errorf("scope.args must be exact, match or any")
	case s.Actor != "" && s.Actor != Same && s.Actor != Any:
		return fmt.Errorf("scope.actor must be same or any")
	case s.Session != "" && s.Session != Same && s.Session != Any:
		return fmt.Errorf("scope.session must be same or any")
	case s.ForMs < 0:
		return fmt.Errorf("scope.forMs must not be negative")
	case (s.Args == Match) != (len(s.Match) > 0):
		return errors.New("scope.match goes with args match, and only with it")
	case len(s.Match) > MaxMatches:
		return fmt.Errorf("scope.match may list %d members", MaxMatches)
	}
	for _, m := range s.Match {
		switch {
		case !strings.HasPrefix(m.Pointer, "/") || len(m.Pointer) > 500:
			return errors.New("scope.match: a pointer begins with / and has at most 500 bytes, as in /path")
		case m.Pattern == "" || m.Pattern == "*" || len(m.Pattern) > 1000 || strings.Contains(strings.TrimSuffix(m.Pattern, "*"), "*"):
			return errors.New("scope.match: a pattern is a text of at most 1000 bytes, or a prefix and one * at the end")
		case SecretValue(m.Pattern):
			return errors.New("scope.match: a pattern has the shape of a credential; it would be recorded")
		}
	}
	return nil
}
