// Package ledger is the service outside of Pawl in the fault tests: a server that records every
// effect, and the tools that have these effects. The ledger outlives the workers that the tests
// kill, so it shows what happened.
//
// It must not help Pawl: it accepts repeated keys and forgets no effect.
package ledger
