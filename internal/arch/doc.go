// Package arch has tests of the source tree and of the documents: which packages may import
// and call which packages, and which test proves each invariant. A test runs each rule on code
// that violates it.
package arch
