package policy

import (
	"github.com/pawl-run/pawl/policy/condition"
	"github.com/pawl-run/pawl/policy/strictyaml"
)

// predicate narrows a rule further than its tool, effects, risks and roles. A predicate is pure.
// The key `when` of a rule gives one, and Pawl's own rules have others. If its result is
// condition.Failed, a deny, a require_approval and a raised risk apply; an allow does not.
type predicate interface {
	eval(e *evaluation) condition.Truth
}

// written is the condition of a rule, with the position of its text in the file.
type written struct {
	*condition.Condition
	at strictyaml.Position
}

func (w written) eval(e *evaluation) condition.Truth { return w.Eval(e.variables()) }

type predicateFunc func(f Facts) condition.Truth

func (p predicateFunc) eval(e *evaluation) condition.Truth { return p(e.facts) }

// when makes a predicate that never needs the arguments.
func when(holds func(f Facts) bool) predicate {
	return predicateFunc(func(f Facts) condition.Truth {
		if holds(f) {
			return condition.Yes
		}
		return condition.No
	})
}
