// Package capability declares the capabilities that Pawl's own tools take from their calls, such as
// a clock, files and HTTP clients.
//
// It holds interfaces, their values and their errors. It must never implement a capability, hold a
// path of the host, or do I/O. Tools, adapters and tests may import it.
package capability
