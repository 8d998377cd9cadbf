package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/condition"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
)

// Explanation says how a decision came about.
type Explanation struct {
	Decision policy.Decision `json:"decision"`
	// DeclaredRisk is the risk that the tool declares. Rules may have raised it.
	DeclaredRisk toolspec.Risk `json:"declaredRisk,omitempty"`
	// Roles are the roles of the actor.
	Roles []string `json:"roles,omitempty"`
	// Rules are all considered rules, in the order of their precedence. The list is empty if a
	// precondition denies the call.
	Rules []Considered `json:"rules,omitempty"`
	// Off are the flags that are off. Each of them stops the call, whatever the verdict is.
	Off []policy.Feature `json:"off,omitempty"`
}

// Considered is a rule and its part in the decision.
type Considered struct {
	// Rule is the name of the rule, as in Decision.
	Rule string `json:"rule"`
	// Says is the verdict of the rule, or the risk that the rule raises to: `risk high`.
	Says string `json:"says"`
	Role Part   `json:"role"`
	// Why is the reason for the part.
	Why string `json:"why,omitempty"`
}

// Part is the relation of a rule to a decision.
type Part string

// The parts.
const (
	// Decides is the rule that the decision names.
	Decides Part = "decides"
	// Raises is a rule that raises the risk.
	Raises Part = "raises"
	// Beaten is a rule that applies but does not decide.
	Beaten Part = "beaten"
	// Open is a rule that needs the arguments.
	Open Part = "open"
	// Passed is a rule that does not apply.
	Passed Part = "passed"
)

// Explain judges a call as the policy does, and explains the decision.
func Explain(p *policy.Policy, f policy.Facts) Explanation {
	f = p.UnderReview(f)
	trace := p.Trace(f)
	x := Explanation{Decision: trace.Decision, DeclaredRisk: f.Risk, Roles: trace.Roles}
	for _, feature := range p.Features(f) {
		if !feature.On {
			x.Off = append(x.Off, feature)
		}
	}
	for i := range trace.Rules {
		r := &trace.Rules[i]
		c := Considered{Rule: r.Name(), Says: string(r.Verb), Role: Passed, Why: reason(r, f, trace.Roles)}
		if r.Class == policy.Raising {
			c.Says = "risk " + string(r.Raise)
		}
		switch {
		case r.Applies == condition.Undetermined:
			c.Role = Open
		case r.Counts() && r.Class == policy.Raising:
			c.Role = Raises
		case r.Counts() && c.Rule == x.Decision.Rule && !x.Decision.Undetermined:
			c.Role = Decides
		case r.Counts():
			c.Role = Beaten
		}
		x.Rules = append(x.Rules, c)
	}
	return x
}

// reason returns the reason for the result of a rule.
func reason(r *policy.Result, f policy.Facts, roles []string) string {
	switch {
	case r.Class == policy.ByMode:
		return "where no rule decides"
	case !r.Tool.Matches(f.ToolID):
		return "it is for " + string(r.Tool)
	case len(r.Effects) > 0 && !slices.Contains(r.Effects, f.Effect):
		return "it is for the effects " + listed(r.Effects)
	case len(r.Risks) > 0 && !slices.Contains(r.Risks, f.Risk):
		return "it is for the risks " + listed(r.Risks)
	case len(r.Roles) > 0 && !slices.ContainsFunc(r.Roles, func(role string) bool { return slices.Contains(roles, role) }):
		return "it is for the roles " + listed(r.Roles)
	}
	written, _ := r.Condition()
	scripts := len(r.Commands) > 0
	switch {
	case r.Class == policy.Allowing && f.ScriptArg != "" && !scripts:
		return "the tool runs scripts, and the rule names no commands"
	case scripts && f.ScriptArg == "":
		return "it is for scripts, and the tool runs none"
	case scripts && r.Applies == condition.Yes:
		return "its commands cover the script"
	case scripts && r.Applies == condition.No:
		return "its commands do not cover the script, or its condition does not hold"
	case scripts && written == nil:
		return "its commands need the arguments"
	case written != nil:
	case r.Applies == condition.No:
		return r.Otherwise
	case !r.Unconditional():
		return r.Message
	default:
		return scope(&r.Rule)
	}
	text := strings.Join(strings.Fields(written.Text()), " ")
	switch r.Applies {
	case condition.Yes:
		return "its condition holds: " + text
	case condition.No:
		return "its condition does not hold: " + text
	case condition.Undetermined:
		return "its condition needs the arguments: " + text
	case condition.Failed:
	}
	return fmt.Sprintf("its condition failed (%s): %s", r.Failure, text)
}

// scope describes the calls that a rule without a condition applies to.
func scope(r *policy.Rule) string {
	said := "it is for " + string(r.Tool)
	if r.Tool == document.EveryTool {
		said = "it is for every tool"
	}
	if len(r.Effects) > 0 {
		said += ", " + listed(r.Effects)
	}
	if len(r.Risks) > 0 {
		said += ", risk " + listed(r.Risks)
	}
	if len(r.Roles) > 0 {
		said += ", by " + listed(r.Roles)
	}
	return said
}

func listed[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}
