// Package schemadiff holds the evaluator of toolspec/jsonschema against libraries that
// others wrote. Two readers of the same specification seldom make the same mistake.
// Where a library differs, a line of known.go says why, and by the specification the
// library is wrong.
//
// It is a module of its own, so that the libraries are no dependencies of Pawl. Nothing
// imports it.
package schemadiff
