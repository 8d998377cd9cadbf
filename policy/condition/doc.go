// Package condition is the language of the conditions of rules: CEL over the arguments and the
// other facts of a call. Compile reads a condition and refuses what a policy may not contain or
// what costs too much. Eval evaluates it for one call, also before the arguments are known. A
// Checker compares conditions with the input schemas of tools.
//
// A new variable of conditions begins in Variables. The functions and the versions of their
// libraries are in environment.go, and the bounds of a condition in cost.go and environment.go.
//
// It must never decide about a call: whether a failed condition denies depends on the rule. It uses
// no clock, no data of the machine and no network, so that the same call is judged the same
// everywhere. It is the only importer of CEL, and imports toolspec, policy/document for bounds,
// policy/suggest and toolspec/jsonschema. Package policy and policy/review import it.
package condition
