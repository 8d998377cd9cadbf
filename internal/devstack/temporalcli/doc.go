// Package temporalcli finds the `temporal` program, or builds it once from Pawl's pinned sources and keeps it in the cache.
//
// The pin is the module internal/devtools; gomod.txt and gosum.txt are copies of its go.mod and go.sum, because a file of
// another module cannot be embedded and an installed pawl has no checkout beside it. A test fails when they differ.
// It must never start a server and never change anything outside the cache directory. Only internal/devstack imports it.
package temporalcli
