// Package triggers stores versions of triggers, the pointer to the active version of each, and what events have done.
// It must not start a run or keep a value of an event. Package internal/postgres imports it.
package triggers
