// Package record stores calls from admit to settle or sweep: approval requests and decisions,
// claims, limited capacity, the result cache, session bindings and retention. A
// statement about a call names the epoch and the executing run; its result says whether it took
// effect. The package must not decide what a call may do. Package postgres and programs that
// read its rows import it.
package record
