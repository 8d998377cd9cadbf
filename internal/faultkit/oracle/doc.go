// Package oracle judges the results of calls after a run with faults. It compares the submitted
// calls and decisions with the state of Temporal, the record and the ledger of effects.
//
// It is pure: it must not ask a server, read a clock or repair data. Only the fault tests and the
// packages of faultkit import it.
package oracle
