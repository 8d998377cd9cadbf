// Package attempt runs tools: execute makes one attempt, reconcile asks the probe of the tool
// whether attempts without an answer took effect. No other package calls a tool.
package attempt
