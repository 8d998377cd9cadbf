// Package runs reads and appends the events of runs, and wakes their watchers. It must not decide which
// events a call has: triggers in the database write the events of calls. Package postgres imports it.
package runs
