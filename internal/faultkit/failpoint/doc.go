// Package failpoint ends, stops or interrupts its own process on either side of
// what makes a call durable: a commit in the record, an answer to Temporal, an
// effect. Point is the closed table of the places; docs/outcomes.md says what
// must become of a call at each of them.
//
// It judges nothing, and it must never be linked into what ships: only faultworker,
// which is built with the tag faults, and tests import it.
package failpoint
