// Package attempt runs tools: execute makes one attempt, reconcile asks the tool what became
// of attempts without an answer. No other package calls a tool.
package attempt
