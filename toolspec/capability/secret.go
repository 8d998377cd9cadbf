package capability

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// secretText is printed in place of a secret.
const secretText = "[secret]"

// ErrSecret says that the program tried to marshal a secret. No part of it was written.
var ErrSecret = errors.New("a secret cannot be marshalled")

// Secret holds a credential. Only Reveal returns it: printing shows [secret], and marshalling is an
// error. The bytes are in a closure, which reflection cannot read. The zero value holds nothing.
type Secret struct{ held func(destroy bool) []byte }

// NewSecret takes ownership of value: the caller must not use or change it afterwards.
func NewSecret(value []byte) Secret {
	return Secret{func(destroy bool) []byte {
		if destroy {
			clear(value)
			value = nil
		}
		return value
	}}
}

// Reveal returns the bytes, nil after Destroy. Do not keep them or write them anywhere. Do not call
// it while another goroutine destroys the secret.
func (s Secret) Reveal() []byte {
	if s.held == nil {
		return nil
	}
	return s.held(false)
}

// Destroy overwrites the bytes, for all copies of the secret. Data made from them, such as the text
// of a header, may stay in memory.
func (s Secret) Destroy() {
	if s.held != nil {
		s.held(true)
	}
}

// String returns [secret].
func (s Secret) String() string { return secretText }

// GoString returns [secret].
func (s Secret) GoString() string { return secretText }

// Format prints [secret] for every verb.
func (s Secret) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, secretText) }

// LogValue returns [secret].
func (s Secret) LogValue() slog.Value { return slog.StringValue(secretText) }

// MarshalJSON returns ErrSecret.
func (s Secret) MarshalJSON() ([]byte, error) { return nil, ErrSecret }

// MarshalText returns ErrSecret.
func (s Secret) MarshalText() ([]byte, error) { return nil, ErrSecret }

// MarshalBinary returns ErrSecret.
func (s Secret) MarshalBinary() ([]byte, error) { return nil, ErrSecret }

// GobEncode returns ErrSecret.
func (s Secret) GobEncode() ([]byte, error) { return nil, ErrSecret }
