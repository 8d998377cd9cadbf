package policy

import "time"

// Budgets limit the calls of a tenant. Zero means that policy sets no limit. A budget narrows the
// value that the tool declares and never widens it. No mode lifts a budget.
type Budgets struct {
	// MaxRuntimeMs limits the time of one attempt, in milliseconds: 1 to 24 h.
	MaxRuntimeMs int64 `json:"maxRuntimeMs,omitempty"`
	// MaxResultBytes limits the redacted result, in bytes: 1 to toolspec.MaxResult.
	MaxResultBytes int64 `json:"maxResultBytes,omitempty"`
	// DeadlineMs limits the time of the whole call without its human waits, in milliseconds: 1 to
	// 30 days.
	DeadlineMs int64 `json:"deadlineMs,omitempty"`
	// MaxAttempts limits the attempts of a tool that may be repeated: 1 to 100.
	MaxAttempts int64 `json:"maxAttempts,omitempty"`
	// RetryDelayMs is the pause before the second attempt, in milliseconds: 1 to an hour; 0 means one second. The
	// pause doubles with each attempt. If a tool returns a later time for the next attempt, that time applies.
	RetryDelayMs int64 `json:"retryDelayMs,omitempty"`
	// RetryDelayMaxMs is the longest of these pauses, in milliseconds: 1 to an hour; 0 means one minute.
	RetryDelayMaxMs int64 `json:"retryDelayMaxMs,omitempty"`
}

// Runtime returns the maximum time of one attempt of a tool that declares the given time.
func (b Budgets) Runtime(declared time.Duration) time.Duration {
	return narrow(declared, time.Duration(b.MaxRuntimeMs)*time.Millisecond)
}

// ResultBytes returns the maximum size of the result of a tool that declares the given size.
func (b Budgets) ResultBytes(declared int) int {
	return narrow(declared, int(b.MaxResultBytes))
}

// Deadline returns the maximum time of a call without its human waits. withoutPolicy is the maximum
// time if policy sets no limit.
func (b Budgets) Deadline(withoutPolicy time.Duration) time.Duration {
	return narrow(withoutPolicy, time.Duration(b.DeadlineMs)*time.Millisecond)
}

// narrow returns the smaller of the two limits. A declared value of zero means "no limit", so
// that a tool without a declaration cannot lift the limit of the policy.
func narrow[T int | time.Duration](declared, bound T) T {
	if bound > 0 && (bound < declared || declared <= 0) {
		return bound
	}
	return declared
}
