// Package schemadiff compares the evaluator of toolspec/jsonschema with other libraries.
// Two programmers who read the same specification seldom make the same mistake.
// If a library differs, a line of known.go says why the library is wrong by the
// specification.
//
// It is a module of its own, so that the libraries are no dependencies of Pawl. Nothing
// imports it.
package schemadiff
