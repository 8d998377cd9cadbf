// Package openfgacli builds the OpenFGA server once from Pawl's pinned sources and keeps it in the cache. Tests of the adapter need it;
// nothing that ships does.
//
// The pin is the module internal/devtools/openfga; gomod.txt and gosum.txt are copies of its go.mod and go.sum. A test fails when they
// differ. It must never start a server. Only internal/devstack imports it.
package openfgacli
