// Package output runs the stages that may change the output of a tool, and returns the
// value that the result cache keeps.
package output
