// Package openfgacli builds the OpenFGA server once from Pawl's pinned sources and keeps it in the cache. Only tests of the adapter need
// it; no released program does.
//
// The module internal/devtools/openfga pins the version. gomod.txt and gosum.txt are copies of its go.mod and go.sum. A test fails if they
// differ. The package must never start a server. Only internal/devstack imports it.
package openfgacli
