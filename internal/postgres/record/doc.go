// Package record keeps the record of calls from admit to settle or sweep: approval requests
// and decisions, claims, limited capacity, the result cache, outputs, bindings of sessions
// and retention. A statement of a call names the epoch and the run that executes, and its
// answer says whether it took effect. The package must not decide what a call may do.
// Package postgres imports it, and programs that read its rows.
package record
