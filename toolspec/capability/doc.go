// Package capability names the abilities that Pawl's own tools take from their
// call: a clock, the files of a workspace.
//
// It holds interfaces, their values and their errors, and imports toolspec and
// the standard library. It must never implement an ability, hold a path of the
// host, or do I/O. Tools and adapters may import it; so may tests that fake one.
package capability
