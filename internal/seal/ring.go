package seal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/pawl-run/pawl/broker"
)

// Ring is a set of keys, of which one seals and all open. A Ring does not change: its methods
// return a changed copy.
type Ring struct {
	handle *keyset.Handle
	sealer tink.AEAD
	// wrappedBy is the key of a KMS that encrypts the ring, or "".
	wrappedBy string
}

var _ broker.Sealer = (*Ring)(nil)

// ErrRing says that a text is no key ring. Its message holds nothing of the text.
var ErrRing = errors.New("this is not a key ring: create one with `pawl keyring new FILE`")

// New makes a ring of one new key.
func New() (*Ring, error) {
	return change(keyset.NewManager(), func(m *keyset.Manager) error {
		id, err := m.Add(aead.AES256GCMKeyTemplate())
		if err != nil {
			return err
		}
		return m.SetPrimary(id)
	})
}

// Parse reads a ring in the form that Encode writes: a Tink keyset in JSON, or a keyset that a key
// of a KMS has wrapped. w unwraps it; w may be nil if the ring is not wrapped. If w may use one key
// only, a ring that this key has not wrapped is refused: a party that can replace the ring could
// otherwise supply a ring of its own.
func Parse(text []byte, w broker.KeyWrapper) (*Ring, error) {
	r, err := parse(text, w)
	if err != nil {
		return nil, err
	}
	if pinner, ok := w.(broker.KeyPinner); ok && pinner.Only() != "" && r.wrappedBy != pinner.Only() {
		return nil, fmt.Errorf("the key ring is not wrapped by %s, and no other counts here; if it is yours, `pawl keyring wrap` wraps it", pinner.Only())
	}
	return r, nil
}

// parse reads a ring. Unlike Parse, it accepts a ring in clear even if w may use one key only, so
// that a command can wrap the ring.
func parse(text []byte, w broker.KeyWrapper) (*Ring, error) {
	plain, key, err := unwrapped(text, w)
	if err != nil {
		return nil, err
	}
	if key != "" {
		defer clear(plain)
	}
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(plain)))
	if err != nil {
		return nil, ErrRing
	}
	r, err := ring(handle)
	if err == nil {
		r.wrappedBy = key
	}
	return r, err
}

func ring(handle *keyset.Handle) (*Ring, error) {
	keys, err := aead.New(handle)
	if err != nil {
		return nil, ErrRing
	}
	return &Ring{handle: handle, sealer: aead.NewKMSEnvelopeAEAD2(aead.AES256GCMKeyTemplate(), keys)}, nil
}

// change returns the ring of a manager after a change.
func change(m *keyset.Manager, f func(*keyset.Manager) error) (*Ring, error) {
	if err := f(m); err != nil {
		return nil, fmt.Errorf("key ring: %w", err)
	}
	handle, err := m.Handle()
	if err != nil {
		return nil, fmt.Errorf("key ring: %w", err)
	}
	return ring(handle)
}

// changed returns the ring after a change, wrapped by the same key as before.
func (r *Ring) changed(f func(*keyset.Manager) error) (*Ring, error) {
	next, err := change(keyset.NewManagerFromHandle(r.handle), f)
	if err == nil {
		next.wrappedBy = r.wrappedBy
	}
	return next, err
}

// Encode returns the ring with its keys in clear text. A wrapped ring is encrypted with w.
func (r *Ring) Encode(w broker.KeyWrapper) ([]byte, error) {
	var out bytes.Buffer
	if err := insecurecleartextkeyset.Write(r.handle, keyset.NewJSONWriter(&out)); err != nil {
		return nil, errors.New("the key ring cannot be written")
	}
	if r.wrappedBy == "" {
		return out.Bytes(), nil
	}
	defer clear(out.Bytes())
	return wrap(out.Bytes(), r.wrappedBy, w)
}

// Key is a key of a ring, without its secret.
type Key struct {
	ID int64 `json:"id"`
	// Seals says that new credentials are sealed with it.
	Seals bool `json:"seals,omitempty"`
}

// Keys lists the keys, the one that seals first.
func (r *Ring) Keys() []Key {
	info := r.handle.KeysetInfo()
	var keys []Key
	for _, k := range info.GetKeyInfo() {
		keys = append(keys, Key{ID: int64(k.GetKeyId()), Seals: k.GetKeyId() == info.GetPrimaryKeyId()})
	}
	slices.SortStableFunc(keys, func(a, b Key) int {
		switch {
		case a.Seals:
			return -1
		case b.Seals:
			return 1
		}
		return 0
	})
	return keys
}

// Primary is the id of the key that seals.
func (r *Ring) Primary() int64 { return int64(r.handle.KeysetInfo().GetPrimaryKeyId()) }

// Add returns the ring with a new key, which opens only: every worker has to have
// it before it seals.
func (r *Ring) Add() (_ *Ring, keyID int64, err error) {
	var id uint32
	added, err := r.changed(func(m *keyset.Manager) (err error) {
		id, err = m.Add(aead.AES256GCMKeyTemplate())
		return err
	})
	return added, int64(id), err
}

// Promote returns the ring with another key that seals.
func (r *Ring) Promote(keyID int64) (*Ring, error) {
	if !r.has(keyID) {
		return nil, fmt.Errorf("the key ring has no key %d", keyID)
	}
	return r.changed(func(m *keyset.Manager) error { return m.SetPrimary(uint32(keyID)) }) //nolint:gosec // has says that it is one
}

// Remove returns the ring without a key. Secrets that are sealed with that key never open again.
func (r *Ring) Remove(keyID int64) (*Ring, error) {
	switch {
	case !r.has(keyID):
		return nil, fmt.Errorf("the key ring has no key %d", keyID)
	case keyID == r.Primary():
		return nil, fmt.Errorf("the key %d seals: promote another one first", keyID)
	}
	return r.changed(func(m *keyset.Manager) error { return m.Delete(uint32(keyID)) }) //nolint:gosec // as above
}

func (r *Ring) has(keyID int64) bool {
	return slices.ContainsFunc(r.Keys(), func(k Key) bool { return k.ID == keyID })
}

// Seal seals with the key that seals, for one place.
func (r *Ring) Seal(plain []byte, at broker.Binding) ([]byte, int64, error) {
	sealed, err := r.sealer.Encrypt(plain, associated(at))
	if err != nil {
		return nil, 0, errors.New("the credential cannot be sealed")
	}
	return sealed, r.Primary(), nil
}

// Open opens what was sealed for the same place.
func (r *Ring) Open(sealed []byte, at broker.Binding) ([]byte, error) {
	plain, err := r.sealer.Decrypt(sealed, associated(at))
	if err != nil {
		return nil, broker.ErrSealed
	}
	return plain, nil
}

// associated encodes the place of a secret: every text with its length before it.
func associated(at broker.Binding) []byte {
	out := []byte("pawl sealed credential 1")
	for _, field := range []string{at.TenantID, at.ConnectionID, at.Provider, at.Target} {
		out = binary.BigEndian.AppendUint64(out, uint64(len(field)))
		out = append(out, field...)
	}
	return binary.BigEndian.AppendUint64(out, uint64(at.Version)) //nolint:gosec // the database counts from 1
}
