package broker

import "context"

// KeyWrapper encrypts with keys that never leave a key management service. The file of a wrapped
// key ring alone gives no access to the ring.
//
// A wrapper gets a few hundred bytes, once when a ring is read and twice when a ring is written,
// and has five seconds. Its errors are shown: they must not contain its input.
type KeyWrapper interface {
	// Wrap encrypts with the named key, such as
	// gcp-kms://projects/p/locations/l/keyRings/r/cryptoKeys/k. The result must not unwrap with
	// other associated bytes.
	Wrap(ctx context.Context, key string, plain, associated []byte) ([]byte, error)
	// Unwrap decrypts the result of Wrap.
	Unwrap(ctx context.Context, key string, wrapped, associated []byte) ([]byte, error)
}

// KeyPinner is a [KeyWrapper] that may use only one key. A worker with a KeyPinner refuses an
// unencrypted ring, because everyone who can write the file could replace the ring.
type KeyPinner interface {
	KeyWrapper
	// Only returns the name of the key, or "" if the wrapper may use every key.
	Only() string
}
