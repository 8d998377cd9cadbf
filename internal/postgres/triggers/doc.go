// Package triggers stores versions of triggers, the active version of each trigger, and for each event the run that it
// started or the reason why it started none. It queues the notifications of another database. It must not start a run, or
// keep a value of an event outside of the queue. Package internal/postgres imports it.
package triggers
