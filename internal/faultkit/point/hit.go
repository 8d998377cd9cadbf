package point

// Hit is what a process sends, as JSON in a POST, when a call comes to a point.
// The process goes on there when it has the answer, an Order.
type Hit struct {
	At Name `json:"at"`
	// Call is the invocation id, or the workflow id at the answers to Temporal.
	Call string `json:"call"`
	PID  int    `json:"pid"`
}

// Order says how the process goes on at a point.
type Order struct {
	// Late says that the statement behind the point is on its way: it runs even
	// where its caller has given up meanwhile.
	Late bool `json:"late,omitempty"`
}
