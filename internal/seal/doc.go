// Package seal encrypts credentials with the keys of a ring, in envelopes of Tink: every credential has a data key of its own, and the keys
// of the ring encrypt the data keys. A key of a KMS may wrap the ring itself. It is the only importer of Tink.
//
// It must never write a key anywhere but into the given file, nor say why something does not open. worker and the CLI import it.
package seal
