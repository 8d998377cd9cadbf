// Package failpoint breaks its own process before or after a step that makes something durable;
// package point lists the points. A Trap follows a plan from the environment: it kills, stops or
// interrupts the process. A Remote asks another process at every point, with the id of the call,
// and waits for the answer.
//
// It must not judge results, and no released program may link it: only tests and programs that are
// built with the tag faults import it.
package failpoint
