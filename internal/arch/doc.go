// Package arch has the tests that keep the tree to its shape and the documents to the truth:
// who may import and call what, and which test proves each invariant. Each rule is shown to
// fail on planted violations.
package arch
