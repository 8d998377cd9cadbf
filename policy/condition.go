package policy

// truth is the result of a condition.
type truth int

const (
	no truth = iota
	yes
	// undetermined: the condition needs the arguments, and they are not known yet.
	undetermined
	// failed: the condition could not be evaluated. A deny, a require_approval and a raised risk
	// then apply; an allow does not. A failure must never make a call easier.
	failed
)

// condition narrows a rule further than its tool, effects, risks and roles. A condition is pure.
// The key `when` of a rule gives a condition, and Pawl's own rules have others.
type condition interface {
	eval(e *evaluation) truth
}

type conditionFunc func(f Facts) truth

func (c conditionFunc) eval(e *evaluation) truth { return c(e.facts) }

// when makes a condition of a predicate that never needs the arguments.
func when(holds func(f Facts) bool) condition {
	return conditionFunc(func(f Facts) truth {
		if holds(f) {
			return yes
		}
		return no
	})
}
