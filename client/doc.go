// Package client starts tool calls, waits for their results and decides on their
// approvals, for Go programs. Any Temporal client can do the same: see docs/contract.md.
// With the readers of Options it also reads outputs, catalogs, calls and approvals.
//
// It must never bypass the workflow: it runs no tool and writes no record of a call.
// Client.Append writes texts into the events of a run. Anybody may import it.
package client
