// Package failpoint breaks things in its own process on either side of what makes
// a call durable; the places are those of package point. A Trap follows a plan
// from the environment: it ends, stops or interrupts the process. A Remote asks
// another process at every place, for each call by its own, and waits for the
// answer.
//
// It judges nothing, and it must never be linked into what ships: only programs
// that are built with the tag faults, and tests, import it.
package failpoint
