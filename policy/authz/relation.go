package authz

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// MaxNesting is the maximum number of memberships between an actor and a group or a role. A longer
// path does not count. This bound also ends a cycle of memberships.
const MaxNesting = 8

// RolePrefix is the prefix of a role in a field that can also name an actor.
const RolePrefix = "role:"

// maxName bounds a name, in characters.
const maxName = 200

// Kind is the kind of a relation.
type Kind string

// The kinds.
const (
	// Member: Subject is a member of Object, a group or a role. A group may be a member of groups
	// and of roles.
	Member Kind = "member"
	// Executes: Subject may run Tools.
	Executes Kind = "execute"
	// Delegates: Object lets Subject run Tools on its behalf. Subject also needs the permission to
	// run them.
	Delegates Kind = "delegate"
)

// Relation is one fact about a tenant for the built-in engine.
type Relation struct {
	Kind    Kind   `json:"kind"`
	Subject string `json:"subject"`
	Object  string `json:"object,omitempty"`
	// Tools is a tool id, or a prefix of tool ids followed by *.
	Tools string `json:"tools,omitempty"`
	// GraphID limits the relation to calls of one graph.
	GraphID string `json:"graphId,omitempty"`
}

// Check returns an error if the relation is not valid.
func (r Relation) Check() error {
	switch r.Kind {
	case Member:
		if r.Tools != "" || r.GraphID != "" {
			return fmt.Errorf("a membership is limited to no tools and no graph")
		}
		if err := checkName(r.Subject, "user", "agent", "service", "group"); err != nil {
			return fmt.Errorf("the member %w", err)
		}
		if err := checkName(r.Object, "group", "role"); err != nil {
			return fmt.Errorf("what it is a member of %w", err)
		}
		if r.Subject == r.Object {
			return fmt.Errorf("%s cannot be a member of itself", r.Subject)
		}
		return nil
	case Executes:
		if r.Object != "" {
			return fmt.Errorf("a permission has no object beside its tools")
		}
		if err := checkName(r.Subject, "user", "agent", "service", "group", "role"); err != nil {
			return fmt.Errorf("who may run tools %w", err)
		}
	case Delegates:
		// The subject must be one identity. A delegation to a group would also reach its future
		// members.
		if err := checkName(r.Subject, "user", "agent", "service"); err != nil {
			return fmt.Errorf("the actor of a delegation %w", err)
		}
		if err := checkName(r.Object, "user", "agent", "service"); err != nil {
			return fmt.Errorf("who delegates %w", err)
		}
	default:
		return fmt.Errorf("%q is no relation: member, execute or delegate", r.Kind)
	}
	if err := checkTools(r.Tools); err != nil {
		return err
	}
	if !short(r.GraphID) {
		return fmt.Errorf("a graph's id has at most %d characters, all visible, with single spaces inside", maxName)
	}
	return nil
}

// Identity reports whether s names an actor: see [toolspec.CheckActorID].
func Identity(s string) bool { return toolspec.CheckActorID(s) == nil }

// checkName returns an error unless s is one of the kinds, a colon and a name.
func checkName(s string, kinds ...string) error {
	kind, name, found := strings.Cut(s, ":")
	if found && name != "" && short(s) {
		for _, k := range kinds {
			if k == kind {
				return nil
			}
		}
	}
	return fmt.Errorf("must be of the form %s:NAME, with visible characters and single spaces inside, not %q", strings.Join(kinds, ":NAME, "), s)
}

func short(s string) bool { return s == "" || toolspec.CheckVisible("the name", s, maxName) == nil }

func checkTools(pattern string) error {
	prefix, glob := strings.CutSuffix(pattern, "*")
	switch {
	case glob && len(prefix) <= 64 && strings.Trim(prefix, toolCharacters) == "":
		return nil
	case !glob && toolspec.CheckToolID(pattern) == nil:
		return nil
	}
	return fmt.Errorf("%q is neither a tool's id, such as core__read_file, nor a prefix of ids and one *", pattern)
}

const toolCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
