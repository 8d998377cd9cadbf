package point

// Hit is the body of a POST that a process sends when a call reaches a point. The process continues
// when it gets the answer, an Order.
type Hit struct {
	At Name `json:"at"`
	// Call is the invocation id, or the workflow id at the answers to Temporal.
	Call string `json:"call"`
	PID  int    `json:"pid"`
}

// Order tells the process how to continue at a point.
type Order struct {
	// Late makes the statement after the point run even if its caller has given up.
	Late bool `json:"late,omitempty"`
}
