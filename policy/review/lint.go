package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/policy/suggest"
	"github.com/pawl-run/pawl/toolspec"
)

// Lint returns warnings about parts of the document without effect, in the order of the document: a rule that never decides because other
// rules cover it, or contradict it and win; a rule for tools that are not allowed, or a rule or a feature for roles that nobody has; a pattern that matches no
// tool of specs; the reviews of an MCP server that has no tool in specs; and approvers with a role that the policy gives to nobody, or who
// are too few for their quorum. These are warnings and not errors, because tools come and go, and because a relation may give a role.
// If specs is empty, the tools are not known, and Lint checks no patterns.
func Lint(p *policy.Policy, specs []toolspec.Spec) []*strictyaml.Error {
	return LintWithRelations(p, specs, nil)
}

// LintWithRelations is Lint for a caller who can read the relations. related reports whether a relation gives the
// role to somebody in the tenant. For such a role, and for a quorum of approvers with such a role,
// LintWithRelations gives no warning.
func LintWithRelations(p *policy.Policy, specs []toolspec.Spec, related func(tenantID, role string) bool) []*strictyaml.Error {
	found := lintApprovers(p, related)
	specs = underReview(p, specs)
	for _, id := range p.Tenants() {
		t := &tenant{entry: p.Document().Tenants[id], rules: p.Rules(id)}
		found = append(found, t.lint(specs)...)
		found = append(found, t.offForAll(id, p.Document().Mentions)...)
	}
	if len(specs) > 0 {
		found = append(found, unmatched(p.Document().Mentions, specs)...)
	}
	if len(found) == 0 {
		return nil
	}
	return found.Sorted()
}

// unmatched finds patterns that match none of the tools.
func unmatched(mentions []document.Mention, specs []toolspec.Spec) (found strictyaml.Errors) {
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.Name
	}
	for _, m := range mentions {
		if slices.ContainsFunc(names, m.Pattern.Matches) {
			continue
		}
		if m.MCPServer != "" {
			found = append(found, m.At.Fault(m.Path, "no worker has a tool of this MCP server: is its id in the file of servers?"))
			continue
		}
		reason := "matches no tool that workers have"
		if like := suggest.Nearest(strings.TrimSuffix(string(m.Pattern), "*"), names); like != "" && m.Pattern != document.EveryTool {
			reason += "; did you mean " + like + "?"
		}
		found = append(found, m.At.Fault(m.Path, reason))
	}
	return found
}

// tenant is the entry of a tenant with its compiled rules.
type tenant struct {
	entry document.Tenant
	rules []policy.Rule
}

// lint returns a warning for each rule of the tenant that never applies or never decides.
func (t *tenant) lint(specs []toolspec.Spec) (found strictyaml.Errors) {
	for i := range t.rules {
		r := &t.rules[i]
		if r.At.Line == 0 {
			continue // a rule that Pawl adds
		}
		if reason := t.pointless(r, t.rules[:i], specs); reason != "" {
			found = append(found, r.At.Fault(r.Source, reason))
		}
	}
	return found
}

// offForAll finds features that are on only for roles that nobody has. No relation can give a role for a feature.
func (t *tenant) offForAll(id string, mentions []document.Mention) (found strictyaml.Errors) {
	for name, f := range t.entry.Features {
		path := strictyaml.Join(strictyaml.Join(strictyaml.Join("tenants", id), "features"), name)
		// The document has no position of a feature, so the warning points at the first tool of the feature.
		at := slices.IndexFunc(mentions, func(m document.Mention) bool { return strings.HasPrefix(m.Path, path+".tools[") })
		if len(f.Roles) > 0 && !t.hasMembers(f.Roles) && at >= 0 {
			found = append(found, mentions[at].At.Fault(path, "is on for nobody: nobody has its roles"))
		}
	}
	return found
}

// hasMembers reports whether the policy gives one of the roles to somebody.
func (t *tenant) hasMembers(roles []string) bool {
	return slices.ContainsFunc(roles, func(name string) bool { return len(t.entry.Roles[name]) > 0 })
}

// pointless returns the reason why a rule never applies or never decides, or "". before are the rules that come
// before it in the order of precedence.
func (t *tenant) pointless(r *policy.Rule, before []policy.Rule, specs []toolspec.Spec) string {
	matching := r.Matching(specs)
	if reason := t.scripts(r, matching, specs); reason != "" {
		return reason
	}
	switch {
	case !slices.ContainsFunc(t.entry.AllowedTools, r.Tool.Overlaps):
		return "never decides: allowedTools has no tool that it matches"
	case len(r.Roles) > 0 && !t.hasMembers(r.Roles):
		return "never decides: nobody has its roles"
	case len(matching) == 0 && slices.ContainsFunc(specs, func(s toolspec.Spec) bool { return r.Tool.Matches(s.Name) }):
		return "never decides: no tool that it matches declares these effects and risks"
	}
	if r.Class == policy.Raising {
		return ""
	}
	if r.Class == policy.Asking && !r.NamesPeople() {
		for i := range t.rules {
			a := &t.rules[i]
			if a.Class == policy.Asking && a.NamesPeople() && a.Unconditional() && everyCaseOf(a, r) && covers(a, r, matching) {
				return fmt.Sprintf("never decides: %s names who approves all of its calls", a.Source)
			}
		}
	}
	for i := range before {
		a := &before[i]
		if a.Class == policy.Raising || !everyCaseOf(a, r) || !covers(a, r, matching) {
			continue
		}
		switch a.Verb {
		case r.Verb:
			if !a.NamesPeople() && r.NamesPeople() {
				continue // among the rules that ask, the first one that names approvers decides
			}
			return fmt.Sprintf("never decides: %s says %s for all of its calls", a.Source, a.Verb)
		case policy.Deny:
			return fmt.Sprintf("never decides: %s denies all of its calls, and no %s is an exception to a deny; narrow that one", a.Source, r.Verb)
		default:
			return fmt.Sprintf("never decides: %s says %s for all of its calls and wins over %s", a.Source, a.Verb, r.Verb)
		}
	}
	return ""
}

// scripts returns a warning about an allow rule that has no commands and matches a tool that runs scripts, or that
// has commands and matches only tools that run none. It returns "" for every other rule.
func (t *tenant) scripts(r *policy.Rule, matching, specs []toolspec.Spec) string {
	if r.Class != policy.Allowing {
		return ""
	}
	allowed := 0
	for _, s := range specs {
		if !r.Tool.Matches(s.Name) || !document.MatchesAny(t.entry.AllowedTools, s.Name) {
			continue
		}
		allowed++
		if len(r.Commands) == 0 && s.ScriptArg != "" {
			return fmt.Sprintf("does not allow %s, which runs scripts: write commands to allow some of these", s.Name)
		}
	}
	if len(r.Commands) > 0 && len(matching) == 0 && allowed > 0 {
		return "never decides: it names commands, and no tool that it matches runs scripts"
	}
	return ""
}

// everyCaseOf reports whether r applies to every call that other applies to, as far as roles and
// conditions go. covers compares the tools.
func everyCaseOf(r, other *policy.Rule) bool {
	if len(r.Roles) > 0 && (len(other.Roles) == 0 || !subset(other.Roles, r.Roles)) {
		return false
	}
	if r.Class == policy.Allowing && len(r.Commands) == 0 && len(other.Commands) > 0 {
		return false // other is a rule for scripts, and r is not
	}
	if r.Unconditional() {
		return true
	}
	if len(r.Commands) > 0 {
		return false // nothing compares patterns of commands
	}
	own, _ := r.Condition()
	theirs, _ := other.Condition()
	// A failed condition makes a deny apply, but not an allow.
	return own != nil && theirs != nil && own.Text() == theirs.Text() && (r.Verb != policy.Allow || other.Verb == policy.Allow)
}

// covers reports whether r matches all tools that other matches. It compares the patterns,
// effects and risks; if other is for one tool, it uses the declarations of that tool.
func covers(r, other *policy.Rule, matching []toolspec.Spec) bool {
	if !r.Tool.Covers(other.Tool) {
		return false
	}
	if (len(r.Effects) == 0 || len(other.Effects) > 0 && subset(other.Effects, r.Effects)) &&
		(len(r.Risks) == 0 || len(other.Risks) > 0 && subset(other.Risks, r.Risks)) {
		return true
	}
	return len(matching) == 1 && string(other.Tool) == matching[0].Name && len(r.Matching(matching)) == 1
}

func subset[T comparable](some, all []T) bool {
	return !slices.ContainsFunc(some, func(one T) bool { return !slices.Contains(all, one) })
}
