// Package temporalserver builds the programs of a full Temporal server once from Pawl's pinned sources and keeps them in the cache.
//
// The module internal/devtools/temporalserver pins the version; gomod.txt and gosum.txt are copies of its go.mod and go.sum. The package must
// never start a server or change anything outside the cache directory. Only internal/devstack imports it.
package temporalserver
