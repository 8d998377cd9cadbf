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

// condition narrows a rule beyond its tool, effects and risks. Conditions are
// pure. CEL's `when` becomes one; until then only Pawl's own use it.
type condition interface {
	eval(f Facts) truth
}

type conditionFunc func(f Facts) truth

func (c conditionFunc) eval(f Facts) truth { return c(f) }

// when makes a condition of something that is always known.
func when(holds func(f Facts) bool) condition {
	return conditionFunc(func(f Facts) truth {
		if holds(f) {
			return yes
		}
		return no
	})
}
