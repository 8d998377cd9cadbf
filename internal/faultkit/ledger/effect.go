package ledger

import "time"

// Effect is one effect of a tool, as the ledger recorded it.
type Effect struct {
	// Key is the idempotency key of the call.
	Key          string `json:"key"`
	InvocationID string `json:"invocationId"`
	ToolCallID   string `json:"toolCallId"`
	ToolID       string `json:"toolId"`
	// Attempt counts from 1. Epoch is the epoch of the call when the attempt
	// was dispatched.
	Attempt int `json:"attempt"`
	Epoch   int `json:"epoch"`
	// Digest is the SHA-256 of the arguments that the tool got.
	Digest string `json:"digest"`
	// PID is the process id of the worker.
	PID int `json:"pid"`
	// At is the time at which the ledger recorded the effect, by its own clock.
	At time.Time `json:"at"`
}
