package broker

import "context"

// KeyWrapper encrypts with keys that never leave a key management service. A key
// ring that is kept wrapped cannot be read by who has its file alone.
//
// It is asked with a few hundred bytes, once when a ring is read and twice when one
// is written, and has five seconds. Its errors are shown: they must hold nothing of
// what it was given.
type KeyWrapper interface {
	// Wrap encrypts with the key of that name, such as
	// gcp-kms://projects/p/locations/l/keyRings/r/cryptoKeys/k. What does not unwrap
	// without the same associated bytes is bound to them.
	Wrap(ctx context.Context, key string, plain, associated []byte) ([]byte, error)
	// Unwrap decrypts what Wrap has encrypted.
	Unwrap(ctx context.Context, key string, wrapped, associated []byte) ([]byte, error)
}

// KeyPinner is a [KeyWrapper] that may use one key only. A worker with one takes no
// ring that is kept in clear: whoever can write the file could put his own there.
type KeyPinner interface {
	KeyWrapper
	// Only names the key; "" is none.
	Only() string
}
