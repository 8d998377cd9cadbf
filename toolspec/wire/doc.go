// Package wire holds what all providers of models have in common when they talk
// about tools: the tools that a request offers, the calls that a response asks
// for, and the results that go back. The packages below it, one for each
// published format, translate these values to bytes and back.
//
// It is pure: no I/O, no clock, no state that outlives a value, and no client library of a
// provider. It does not decide whether a call may run and with which arguments: that is the task of
// toolspec/hydrate and of the gate. Clients and activities import it; workflows must not.
package wire
