// Package policy decides which calls a tenant may make. Parse compiles a document once; the pure
// function Decide judges one call by it.
//
// Everything that the document does not allow is denied. A document with an unknown element is
// refused as a whole, because ignoring an unknown condition would allow too much.
// development.yaml shows the elements of a document.
//
// The parts of a policy have packages of their own, and each imports the packages before it in this
// list:
//
//   - policy/document: the keys of a policy, and reading them;
//   - policy/condition: the conditions of rules, in CEL;
//   - policy: the compiled policy, decisions, approvers, budgets, limits, visibility;
//   - policy/review: what people do with a policy: check, lint, explain, diff, backtest, test.
//
// It must never do I/O, read a clock, or know Temporal or Postgres; the same facts and the same
// document always give the same decision. Workflows must not import it (a decision is made in an
// activity); activities, adapters, the worker and the commands may.
package policy
