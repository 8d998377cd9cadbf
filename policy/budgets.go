package policy

import "time"

// Bounds of what a policy may give a call.
const (
	maxDeadline   = 30 * 24 * time.Hour
	maxAttempts   = 100
	maxRetryDelay = time.Hour
)

// Budgets bound the calls of a tenant. Zero means that policy sets no bound. They
// narrow what the tool declares and never widen it; no mode lifts them.
type Budgets struct {
	// MaxRuntimeMs bounds one attempt, in milliseconds: 1 to 24 h.
	MaxRuntimeMs int64 `json:"maxRuntimeMs,omitempty"`
	// MaxResultBytes bounds the redacted result, in bytes: 1 to
	// toolspec.MaxResult.
	MaxResultBytes int64 `json:"maxResultBytes,omitempty"`
	// DeadlineMs bounds the whole call without its human waits, in
	// milliseconds: 1 to 30 days.
	DeadlineMs int64 `json:"deadlineMs,omitempty"`
	// MaxAttempts bounds the attempts of a tool that may be repeated: 1 to 100.
	MaxAttempts int64 `json:"maxAttempts,omitempty"`
	// RetryDelayMs is the pause before the second attempt, in milliseconds, 1 to an
	// hour, which doubles up to RetryDelayMaxMs, 1 to an hour. Zero means a second
	// and a minute. A tool that says when it may be asked again is obeyed where
	// that is later.
	RetryDelayMs    int64 `json:"retryDelayMs,omitempty"`
	RetryDelayMaxMs int64 `json:"retryDelayMaxMs,omitempty"`
}

// Runtime is the budget of one attempt of a tool that declares the given one.
func (b Budgets) Runtime(declared time.Duration) time.Duration {
	return narrow(declared, time.Duration(b.MaxRuntimeMs)*time.Millisecond)
}

// ResultBytes is the bound of the result of a tool that declares the given one.
func (b Budgets) ResultBytes(declared int) int {
	return narrow(declared, int(b.MaxResultBytes))
}

// Deadline is the deadline of a call that would otherwise have the given one.
func (b Budgets) Deadline(otherwise time.Duration) time.Duration {
	return narrow(otherwise, time.Duration(b.DeadlineMs)*time.Millisecond)
}

// narrow takes a declared value of zero as "no bound", so that a missing default
// cannot lift the policy's.
func narrow[T int | time.Duration](declared, bound T) T {
	if bound > 0 && (bound < declared || declared <= 0) {
		return bound
	}
	return declared
}
