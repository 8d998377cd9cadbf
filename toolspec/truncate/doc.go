// Package truncate shortens values that are too large to be shown. The result of a call, the record
// and the answer to a model get the same short form, because all of them get it from this package.
//
// It must never do I/O, and it never changes a value that is within its limits. The worker and clients
// import it.
package truncate
