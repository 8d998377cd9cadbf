// Package approval asks people whether a call may run, and whether a call with an unknown outcome
// took effect. It receives decisions as signals and updates. The record says which decisions
// count. Bounds on all other decisions keep room for the decisions of the people who may decide.
package approval
