// Package workflows is the deterministic half of a call: the workflow
// InvokeTool orders stages, waits and retries, and does nothing else.
//
// It must never read a clock, a random number or the environment, range over a
// map, start a goroutine or do I/O; what needs any of that is an activity. It
// imports toolspec, toolspec/hook and the Temporal SDK only. Activities,
// clients and the worker import it for its names and typed handles.
package workflows
