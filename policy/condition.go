package policy

// truth is the answer of a condition.
type truth int

const (
	no truth = iota
	yes
	// undetermined: the arguments are needed and not known yet.
	undetermined
	// failed: the condition could not be evaluated. A deny, a demanded approval
	// and a raised risk then apply, an allow does not: what cannot be judged
	// must not get easier.
	failed
)

// condition narrows a rule beyond its tool, effects, risks and roles. Conditions
// are pure. `when` of a rule is one; Pawl's own rules have others.
type condition interface {
	eval(e *evaluation) truth
}

type conditionFunc func(f Facts) truth

func (c conditionFunc) eval(e *evaluation) truth { return c(e.facts) }

// when makes a condition of something that is always known.
func when(holds func(f Facts) bool) condition {
	return conditionFunc(func(f Facts) truth {
		if holds(f) {
			return yes
		}
		return no
	})
}
