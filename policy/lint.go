package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// Lint returns warnings about parts of the document without effect, in the order of the document:
// a rule that never decides because other rules cover it, or contradict it and win; a rule for
// tools that are not allowed, or for roles that nobody has; and a pattern that matches no tool of
// specs. These are warnings and not errors, because tools come and go. Empty specs mean that the
// tools are not known; Lint then checks no patterns.
func (p *Policy) Lint(specs []toolspec.Spec) []*Error {
	if p == nil {
		return nil
	}
	var found Errors
	for _, id := range p.tenantIDs() {
		found = append(found, p.tenants[id].lint(specs)...)
	}
	if len(specs) > 0 {
		found = append(found, p.unmatched(specs)...)
	}
	if len(found) == 0 {
		return nil
	}
	return found.sorted()
}

// mention is a pattern of tools in a document.
type mention struct {
	pattern Pattern
	at      origin
	path    string
}

// unmatched finds patterns that match none of the tools.
func (p *Policy) unmatched(specs []toolspec.Spec) (found Errors) {
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.Name
	}
	for _, m := range p.mentions {
		if slices.ContainsFunc(names, m.pattern.Matches) {
			continue
		}
		reason := "matches no tool that workers have"
		if like := nearest(strings.TrimSuffix(string(m.pattern), "*"), names); like != "" && m.pattern != "*" {
			reason += "; did you mean " + like + "?"
		}
		found = append(found, m.at.says(m.path, reason))
	}
	return found
}

func (t *tenant) lint(specs []toolspec.Spec) (found Errors) {
	for i := range t.rules {
		r := &t.rules[i]
		if r.at.line == 0 {
			continue // a rule that Pawl adds
		}
		if reason := t.pointless(r, t.rules[:i], specs); reason != "" {
			found = append(found, r.at.says(r.source, reason))
		}
	}
	return found
}

// pointless returns the reason why a rule never applies or never decides, or "".
func (t *tenant) pointless(r *rule, before []rule, specs []toolspec.Spec) string {
	matching := r.matching(specs)
	switch {
	case !slices.ContainsFunc(t.allowed, r.tool.overlaps):
		return "never decides: allowedTools has no tool that it matches"
	case len(r.roles) > 0 && !slices.ContainsFunc(t.roles, func(o role) bool { return len(o.of) > 0 && slices.Contains(r.roles, o.name) }):
		return "never decides: nobody has its roles"
	case len(matching) == 0 && slices.ContainsFunc(specs, func(s toolspec.Spec) bool { return r.tool.Matches(s.Name) }):
		return "never decides: no tool that it matches declares these effects and risks"
	}
	if r.class == raising {
		return ""
	}
	if r.class == asking && !r.approvers.namesPeople() {
		for i := range t.rules {
			a := &t.rules[i]
			if a.class == asking && a.approvers.namesPeople() && a.everyCaseOf(r) && a.covers(r, matching) {
				return fmt.Sprintf("never decides: %s names who approves all of its calls", a.source)
			}
		}
	}
	for i := range before {
		a := &before[i]
		if a.class == raising || !a.everyCaseOf(r) || !a.covers(r, matching) {
			continue
		}
		switch a.verb {
		case r.verb:
			if !a.approvers.namesPeople() && r.approvers.namesPeople() {
				continue // among the rules that ask, the first one that names approvers decides
			}
			return fmt.Sprintf("never decides: %s says %s for all of its calls", a.source, a.verb)
		case Deny:
			return fmt.Sprintf("never decides: %s denies all of its calls, and no %s is an exception to a deny; narrow that one", a.source, r.verb)
		default:
			return fmt.Sprintf("never decides: %s says %s for all of its calls and wins over %s", a.source, a.verb, r.verb)
		}
	}
	return ""
}

// everyCaseOf reports whether r applies to every call that other applies to, as far as roles and
// conditions go. covers compares the tools.
func (r *rule) everyCaseOf(other *rule) bool {
	if len(r.roles) > 0 && (len(other.roles) == 0 || !subset(other.roles, r.roles)) {
		return false
	}
	if r.cond == nil {
		return true
	}
	own, ok := r.cond.(*whenCondition)
	theirs, too := other.cond.(*whenCondition)
	// A failed condition makes a deny apply, but not an allow.
	return ok && too && own.text == theirs.text && (r.verb != Allow || other.verb == Allow)
}

// covers reports whether r matches all tools that other matches. It compares the patterns,
// effects and risks; if other is for one tool, it uses the declarations of that tool.
func (r *rule) covers(other *rule, matching []toolspec.Spec) bool {
	if !r.tool.covers(other.tool) {
		return false
	}
	if (len(r.effects) == 0 || len(other.effects) > 0 && subset(other.effects, r.effects)) &&
		(len(r.risks) == 0 || len(other.risks) > 0 && subset(other.risks, r.risks)) {
		return true
	}
	return len(matching) == 1 && string(other.tool) == matching[0].Name && len(r.matching(matching)) == 1
}

func subset[T comparable](some, all []T) bool {
	return !slices.ContainsFunc(some, func(one T) bool { return !slices.Contains(all, one) })
}

// covers reports whether p matches every text that other matches.
func (p Pattern) covers(other Pattern) bool {
	prefix, glob := strings.CutSuffix(string(other), "*")
	if !glob {
		return p.Matches(string(other))
	}
	own, all := strings.CutSuffix(string(p), "*")
	return all && strings.HasPrefix(prefix, own)
}

// overlaps reports whether some text matches both patterns.
func (p Pattern) overlaps(other Pattern) bool {
	own, all := strings.CutSuffix(string(p), "*")
	prefix, glob := strings.CutSuffix(string(other), "*")
	switch {
	case all && glob:
		return strings.HasPrefix(own, prefix) || strings.HasPrefix(prefix, own)
	case all:
		return p.Matches(string(other))
	}
	return other.Matches(string(p))
}
