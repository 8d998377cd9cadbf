// Package client starts tool calls, waits for their results and decides on their
// approvals, for Go programs. Everything it does any Temporal client can do: see
// docs/contract.md.
//
// It must never bypass the workflow: no call runs and no record is written
// here. Anybody may import it.
package client
