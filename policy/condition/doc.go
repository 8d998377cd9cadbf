// Package condition is the language of the conditions of rules: CEL over the arguments of a call
// and what else is known of it. Compile reads a condition and refuses what a policy may not
// contain or what costs too much. Eval evaluates it for one call, also before the arguments are
// known. A Checker compares conditions with the input schemas of tools.
//
// A new variable of conditions begins in Variables; the functions and the versions of their
// libraries stand in environment.go; the bounds of a condition in cost.go and environment.go.
//
// It must never decide about a call: whether a failed condition denies is a matter of the rule. It
// asks for no clock, no machine and no network, so that the same call is judged the same
// everywhere. It is the only importer of CEL, and imports toolspec, policy/document for bounds,
// policy/suggest and toolspec/jsonschema. Package policy and policy/review import it.
package condition
