// Package ledger is the outside world of the fault tests: a server that writes
// down every effect that tools have on it, and the tools that have them. It
// outlives the workers that are killed, so what it holds is what happened.
//
// It must never help Pawl: it refuses no repeated key and forgets nothing.
package ledger
