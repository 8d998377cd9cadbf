package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// Explanation says how a decision came about.
type Explanation struct {
	Decision Decision `json:"decision"`
	// DeclaredRisk is the risk that the tool declares. Rules may have raised it.
	DeclaredRisk toolspec.Risk `json:"declaredRisk,omitempty"`
	// Roles are the roles of the actor.
	Roles []string `json:"roles,omitempty"`
	// Rules are all considered rules, in the order of their precedence. The list is empty if a
	// precondition denies the call.
	Rules []Considered `json:"rules,omitempty"`
	// Off are the flags that are off. They stop the call for every verdict.
	Off []Feature `json:"off,omitempty"`
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

// Explain judges a call as Decide does, and explains the decision.
func (p *Policy) Explain(f Facts) Explanation {
	x := Explanation{Decision: p.Decide(f), DeclaredRisk: f.Risk}
	t := p.tenant(f.TenantID)
	if t == nil {
		return x
	}
	e := t.evaluation(f)
	x.Roles = slices.Clone(e.rolesOf())
	for _, feature := range p.Features(f) {
		if !feature.On {
			x.Off = append(x.Off, feature)
		}
	}
	if d := t.precondition(e); d != nil {
		return x
	}
	consider := func(r *rule, says string, applies truth, why string) {
		c := Considered{Rule: r.source, Says: says, Role: Passed, Why: why}
		if applies == failed && r.verb != Allow {
			c.Rule += failedSource
		}
		switch counts := applies == yes || applies == failed && r.verb != Allow; {
		case applies == undetermined:
			c.Role = Open
		case counts && r.class == raising:
			c.Role = Raises
		case counts && c.Rule == x.Decision.Rule && !x.Decision.Undetermined:
			c.Role = Decides
		case counts:
			c.Role = Beaten
		}
		x.Rules = append(x.Rules, c)
	}
	for i := range t.rules {
		r := &t.rules[i]
		says := string(r.verb)
		if r.class == raising {
			says = "risk " + string(r.raise)
		}
		applies, why := r.explain(e)
		consider(r, says, applies, why)
	}
	mode, risk := t.modeOf(f.ToolID), x.Decision.Risk
	last := modeRule(mode, risk)
	consider(last, string(last.verb), yes, "where no rule decides")
	return x
}

// explain returns the result of applies and the reason for it.
func (r *rule) explain(e *evaluation) (truth, string) {
	f := &e.facts
	switch {
	case !r.tool.Matches(f.ToolID):
		return no, "it is for " + string(r.tool)
	case len(r.effects) > 0 && !slices.Contains(r.effects, f.Effect):
		return no, "it is for the effects " + listed(r.effects)
	case len(r.risks) > 0 && !slices.Contains(r.risks, f.Risk):
		return no, "it is for the risks " + listed(r.risks)
	case len(r.roles) > 0 && !e.hasOne(r.roles):
		return no, "it is for the roles " + listed(r.roles)
	}
	applies := r.applies(e)
	w, written := r.cond.(*whenCondition)
	switch {
	case written:
	case applies == no:
		return applies, r.otherwise
	case r.cond != nil:
		return applies, r.message
	default:
		return applies, r.scope()
	}
	text := oneLine(w.text)
	switch applies {
	case yes:
		return applies, "its condition holds: " + text
	case no:
		return applies, "its condition does not hold: " + text
	case undetermined:
		return applies, "its condition needs the arguments: " + text
	case failed:
	}
	return failed, fmt.Sprintf("its condition failed (%s): %s", w.fault(e), text)
}

// scope describes the calls that a rule without a condition applies to.
func (r *rule) scope() string {
	said := "it is for " + string(r.tool)
	if r.tool == everyTool {
		said = "it is for every tool"
	}
	if len(r.effects) > 0 {
		said += ", " + listed(r.effects)
	}
	if len(r.risks) > 0 {
		said += ", risk " + listed(r.risks)
	}
	if len(r.roles) > 0 {
		said += ", by " + listed(r.roles)
	}
	return said
}

// fault returns the reason why a condition failed.
func (w *whenCondition) fault(e *evaluation) string {
	value, _, err := w.program.Eval(e)
	if err != nil {
		return oneLine(err.Error())
	}
	return fmt.Sprintf("it is of type %s, neither true nor false", value.Type().TypeName())
}

func listed[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}
