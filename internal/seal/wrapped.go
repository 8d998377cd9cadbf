package seal

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/pawl-run/pawl/broker"
)

const (
	// wrapTime bounds the time of a request to a KMS.
	wrapTime = 5 * time.Second
	// restTime is the pause after a KMS did not unwrap a ring. If the KMS answers one of two
	// requests, a worker sees a change of the ring after lookEvery, restTime and twice
	// wrapTime. `pawl keyring retire` waits longer than that.
	restTime = 10 * time.Second
)

// wrapped is the form in a file of a ring that a key of a KMS has encrypted.
type wrapped struct {
	// WrappedBy names the key.
	WrappedBy string `json:"wrappedBy"`
	// Ring is a Tink envelope: a data key that the KMS has encrypted, and the text of
	// the ring encrypted with it. A KMS encrypts a few kilobytes at most.
	Ring []byte `json:"ring"`
}

// wrappingKey is a scheme and what a KMS calls its key. There is no @ in it: it is
// written into files and errors, and must have no room for a password.
var wrappingKey = regexp.MustCompile(`^[a-z][a-z0-9+.-]{0,31}://[A-Za-z0-9!#$%&*+,./:;=?_~-]{1,1000}$`)

// WrappedBy returns the name of the key of a KMS that encrypts the ring, or "".
func (r *Ring) WrappedBy() string { return r.wrappedBy }

// Wrap returns the ring so that Encode encrypts it with a key of a KMS; "" means in clear.
func (r *Ring) Wrap(key string) (*Ring, error) {
	if key != "" && !wrappingKey.MatchString(key) {
		return nil, errors.New("a key of a KMS is named by its scheme and its path, such as gcp-kms://projects/…, and has no @ in it")
	}
	again := *r
	again.wrappedBy = key
	return &again, nil
}

// unwrapped returns the text of a ring, and the key that it was wrapped by, if any.
func unwrapped(text []byte, w broker.KeyWrapper) (plain []byte, key string, err error) {
	var kept wrapped
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if dec.Decode(&kept) != nil || kept.WrappedBy == "" {
		return text, "", nil
	}
	if dec.More() || !wrappingKey.MatchString(kept.WrappedBy) {
		return nil, "", ErrRing
	}
	if w == nil {
		return nil, "", fmt.Errorf("the key ring is wrapped by %s, and this program speaks with no KMS: use pawl-kms, or a worker with worker.KeyWrapper", kept.WrappedBy)
	}
	ctx, cancel := context.WithTimeout(context.Background(), wrapTime)
	defer cancel()
	remote := &kms{ctx: ctx, wrapper: w, key: kept.WrappedBy}
	plain, err = remote.envelope().Decrypt(kept.Ring, remote.purpose())
	switch {
	case remote.err != nil:
		return nil, "", &refused{fmt.Errorf("the key ring is wrapped by %s, which does not unwrap it: %w", kept.WrappedBy, remote.err)}
	case err != nil:
		return nil, "", fmt.Errorf("the key ring is wrapped by %s, and is not what that has wrapped: it was changed", kept.WrappedBy)
	}
	return plain, kept.WrappedBy, nil
}

// refused is the error of a KMS that did not unwrap a ring.
type refused struct{ error }

// Unwrap returns the error of the KMS.
func (r *refused) Unwrap() error { return r.error }

// wrap encrypts the text of a ring. It returns an error if the result does not unwrap again,
// because the ring would be lost.
func wrap(plain []byte, key string, w broker.KeyWrapper) ([]byte, error) {
	if w == nil {
		return nil, fmt.Errorf("the key ring is to be wrapped by %s, and this program speaks with no KMS: use pawl-kms", key)
	}
	ctx, cancel := context.WithTimeout(context.Background(), wrapTime)
	defer cancel()
	remote := &kms{ctx: ctx, wrapper: w, key: key}
	sealed, err := remote.envelope().Encrypt(plain, remote.purpose())
	switch {
	case remote.err != nil:
		return nil, fmt.Errorf("%s does not wrap the key ring: %w", key, remote.err)
	case err != nil:
		return nil, errors.New("the key ring cannot be wrapped")
	}
	text, err := json.MarshalIndent(wrapped{key, sealed}, "", "  ")
	if err != nil {
		return nil, errors.New("the key ring cannot be written")
	}
	again, _, err := unwrapped(text, w)
	if err != nil {
		return nil, err
	}
	defer clear(again)
	if !bytes.Equal(again, plain) {
		return nil, fmt.Errorf("%s unwraps something else than it has wrapped", key)
	}
	return append(text, '\n'), nil
}

// kms is a key of a KMS with the interface of Tink.
type kms struct {
	ctx     context.Context
	wrapper broker.KeyWrapper
	key     string
	// err is the error of the last request.
	err error
}

var _ tink.AEAD = (*kms)(nil)

func (k *kms) envelope() tink.AEAD { return aead.NewKMSEnvelopeAEAD2(aead.AES256GCMKeyTemplate(), k) }

// purpose binds the encrypted text to its use as a key ring, and to the key of the KMS. So
// no other text can pose as a key ring, and no key ring as a ring of another key. Tink does
// not bind the data key; this binds it too.
func (k *kms) purpose() []byte {
	out := binary.BigEndian.AppendUint64([]byte("pawl wrapped key ring 1"), uint64(len(k.key)))
	return append(out, k.key...)
}

// Encrypt encrypts the data key.
func (k *kms) Encrypt(plain, _ []byte) (out []byte, err error) {
	out, k.err = k.wrapper.Wrap(k.ctx, k.key, plain, k.purpose())
	return out, k.err
}

// Decrypt decrypts the data key.
func (k *kms) Decrypt(wrapped, _ []byte) (out []byte, err error) {
	out, k.err = k.wrapper.Unwrap(k.ctx, k.key, wrapped, k.purpose())
	return out, k.err
}
