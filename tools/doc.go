// Package tools holds Pawl's built-in tools, one file for each or for a few that share their data: the
// contract and a function over capabilities.
//
// A tool of this package is not runnable by itself: it takes its abilities from
// the call, and a worker that does not provide them cannot run it. It must never
// do I/O, read a clock, the environment or a secret, or import anything but
// toolspec, toolspec/capability, toolspec/output/... and the pure part of the standard library.
// Composition roots and their tests may import it.
package tools

//go:generate go test . -run ^TestAll$ -update
