// Package errs answers two questions about an error: may the same work succeed in another try,
// and which text of the error may be logged. It also repeats work that may succeed in another try.
package errs
