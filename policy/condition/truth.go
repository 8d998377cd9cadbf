package condition

// Truth is the result of a condition.
type Truth int

// The results.
const (
	No Truth = iota
	Yes
	// Undetermined says that the condition needs the arguments, and they are not known yet.
	Undetermined
	// Failed says that the condition could not be evaluated. A failure must never make a call
	// easier.
	Failed
)
