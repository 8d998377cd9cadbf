// Package triggers stores versions of triggers, the pointer to the active version of each, and what events have done. It queues the notifications of
// another database. It must not start a run, or keep a value of an event but in the queue. Package internal/postgres imports it.
package triggers
