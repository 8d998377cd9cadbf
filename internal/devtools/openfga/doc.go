// Package openfga pins the OpenFGA server that tests of the adapter run.
//
// It is a module of its own, as internal/devtools is, and beside it: the two programs must not have to agree on versions. It must never
// hold code. Nobody imports it: internal/devstack/openfgacli embeds copies of go.mod and go.sum.
package openfga
