package condition

// Truth is the result of a condition.
type Truth int

// The results.
const (
	No Truth = iota
	Yes
	// Undetermined says that the condition needs the arguments, and they are not known yet.
	Undetermined
	// Failed says that the condition could not be evaluated. A failure must never allow a call: a deny rule with a
	// failed condition denies, and an allow rule does not allow.
	Failed
)
