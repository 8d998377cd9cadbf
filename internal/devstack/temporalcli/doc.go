// Package temporalcli finds the `temporal` program, or builds it once from Pawl's pinned sources and keeps it in the cache.
//
// The module internal/devtools pins the version. gomod.txt and gosum.txt are copies of its go.mod and go.sum, because a file of another
// module cannot be embedded, and an installed pawl has no source tree. A test fails if they differ. The package must never start a server
// or change anything outside the cache directory. Only internal/devstack imports it.
package temporalcli
