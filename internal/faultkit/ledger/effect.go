package ledger

import "time"

// Effect is one run of a tool that reached the outside.
type Effect struct {
	// Key is the idempotency key that the tool was given.
	Key          string `json:"key"`
	InvocationID string `json:"invocationId"`
	ToolCallID   string `json:"toolCallId"`
	ToolID       string `json:"toolId"`
	// Attempt counts from 1; Epoch is that of the run that dispatched it.
	Attempt int `json:"attempt"`
	Epoch   int `json:"epoch"`
	// Digest is the SHA-256 of the arguments as the tool got them.
	Digest string `json:"digest"`
	// PID is the process of the worker.
	PID int `json:"pid"`
	// At is when the ledger wrote it down, by its own clock.
	At time.Time `json:"at"`
}
