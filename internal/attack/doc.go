// Package attack tries to run tools, settle calls and move records with nothing but access to the Temporal namespace.
//
// The attacker of these tests has a plain Temporal client and plain workers on task queues of his own. He has no address of the database,
// no key, and no code of Pawl that a worker registers; he writes payloads by hand, or copies them from histories. He does not answer
// workflow tasks of the queue `pawl`: docs/contract.md says what that would allow.
//
// The victim is worker.Run, with tools that write down their effects, on a real database. The cases read from the running worker what it
// registers: an activity, workflow type, signal, update or query without a case fails the suite. It must never use a workflow or an
// activity of Pawl but through the Temporal API. It has tests only, and nobody imports it.
package attack
