// Package approval asks people whether a call may run, and what became of a call whose
// outcome is unknown. It receives decisions as signals and updates. The record says
// which decisions count. Bounds on all other decisions keep room for the decisions of
// the people who may decide.
package approval
