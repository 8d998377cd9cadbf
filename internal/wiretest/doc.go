// Package wiretest compares the codecs of toolspec/wire with the providers' own
// Go clients: what Pawl encodes must be read by their types without a member
// left over, and what their types read from a response must be the calls that
// Pawl reads. It compares the requests of package provider with those of the clients too.
//
// It is a module of its own because those clients must not enter Pawl's go.mod.
// It holds tests alone; nobody imports it. `.ci/run wiretest` runs it.
package wiretest
