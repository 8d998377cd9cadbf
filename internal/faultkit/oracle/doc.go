// Package oracle judges what became of calls while things broke: it compares
// what was submitted and decided with what Temporal, the record and the ledger
// of effects say afterwards.
//
// It is pure: it must never ask a server, read a clock or repair what it finds.
// Only the fault tests and the packages of faultkit import it.
package oracle
