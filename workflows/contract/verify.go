package contract

// VerifyClosed is the activity of the workflow VerifyHistory.
var VerifyClosed = Activity[VerifyClosedIn, VerifyClosedOut]{name: "verifyClosed", regular: true}

// VerifyClosedIn is the input of VerifyClosed, which searches the workflows that closed
// between SinceMs and UntilMs, in milliseconds of the Unix epoch. The activity uses the
// namespace of its worker.
type VerifyClosedIn struct {
	SinceMs int64 `json:"sinceMs"`
	UntilMs int64 `json:"untilMs"`
}

// VerifyClosedOut counts the searched data and the findings. The log of the worker says
// where each secret was found.
type VerifyClosedOut struct {
	SinceMs int64 `json:"sinceMs"`
	UntilMs int64 `json:"untilMs"`
	// Secrets counts the secrets that were searched for.
	Secrets int `json:"secrets"`
	// TooPlain counts the secrets that were not searched for, because other text may look the same.
	TooPlain  int `json:"tooPlain,omitempty"`
	Workflows int `json:"workflows"`
	Events    int `json:"events"`
	Findings  int `json:"findings"`
	// Unread counts the payloads that did not decode.
	Unread int `json:"unread,omitempty"`
}
