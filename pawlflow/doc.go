// Package pawlflow calls tools from a workflow of your own. A call is the child workflow InvokeTool: policy
// judges it, and the record keeps it, as any other call.
//
// It is workflow code: it must never read a clock, a random number or the environment, start a goroutine of Go
// or do I/O, and it must not import the workflows of Pawl. Any workflow may import it.
package pawlflow
