// Package workflows holds the deterministic part of a call: the workflow InvokeTool puts
// stages in order, waits, and retries. It does nothing else.
//
// The package must never read a clock, a random number or the environment, range over a
// map, start a goroutine or do I/O. Work that needs any of these is an activity. The
// package imports only toolspec, toolspec/hook, its own subpackages and the Temporal SDK.
// Activities and stores import its contract, workflows/contract, and not this package.
//
// In the comments of this package, its subpackages and the activities, "this run" and "an earlier run" are
// runs of the workflow in Temporal, and not the run of the caller, which is a group of calls.
package workflows
