// Package seal seals credentials with the keys of a ring: envelopes of Tink, in which every credential has a data key of its own and the
// ring's keys seal the data keys. A ring may be kept wrapped by a key of a KMS. It is the only importer of Tink.
//
// It must never write a key anywhere but into the file that it was told, nor tell why something does not open. worker and the CLI import it.
package seal
