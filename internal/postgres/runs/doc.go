// Package runs reads and appends the events of runs, and wakes their watchers. It must not decide
// which event a call has: the triggers of the record write these. Package postgres imports it.
package runs
