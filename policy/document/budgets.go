package document

// Budgets limit the calls of a tenant, or of some of its tools. A budget narrows the value that the
// tool declares and never widens it.
type Budgets struct {
	MaxRuntimeMs    int64 `json:"maxRuntimeMs,omitempty" jsonschema:"minimum=1,maximum=86400000" jsonschema_description:"Of one attempt, in milliseconds."`
	MaxResultBytes  int64 `json:"maxResultBytes,omitempty" jsonschema:"minimum=1,maximum=16777216" jsonschema_description:"Of the redacted result."`
	DeadlineMs      int64 `json:"deadlineMs,omitempty" jsonschema:"minimum=1,maximum=2592000000" jsonschema_description:"Of the whole call without the time that people take."`
	MaxAttempts     int64 `json:"maxAttempts,omitempty" jsonschema:"minimum=1,maximum=100" jsonschema_description:"Of a tool that may be repeated."`
	RetryDelayMs    int64 `json:"retryDelayMs,omitempty" jsonschema:"minimum=1,maximum=3600000" jsonschema_description:"Before the second attempt; it doubles from then on."`
	RetryDelayMaxMs int64 `json:"retryDelayMaxMs,omitempty" jsonschema:"minimum=1,maximum=3600000" jsonschema_description:"The longest of these pauses."`
}
