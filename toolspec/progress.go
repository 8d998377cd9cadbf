package toolspec

// MaxProgressText bounds the words of a report, in bytes.
const MaxProgressText = 200

// Progress is how far a running call is, in the tool's own units.
type Progress struct {
	Done int64 `json:"done"`
	// Total is 0 if nobody knows.
	Total int64 `json:"total,omitempty"`
	// Text is safe to show, at most MaxProgressText bytes.
	Text string `json:"text,omitempty"`
}
