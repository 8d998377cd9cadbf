// Package attempt runs the tool of a call. It dispatches attempts, finds out whether an attempt
// without an answer took effect, and repeats an attempt if that is safe. For steps that belong to
// other parts of the call, such as a person's decision, it returns to its caller: see Then.
package attempt
