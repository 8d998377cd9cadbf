package capability

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// secretText stands wherever a secret would be printed.
const secretText = "[secret]"

// ErrSecret says that something tried to write a secret down. Nothing did.
var ErrSecret = errors.New("a secret cannot be marshalled")

// Secret holds a credential and gives it to nobody who does not ask for it by
// Reveal: printing shows [secret], and marshalling in any form is an error. The
// bytes stand behind a function, where reflection does not see them. The zero
// value holds nothing.
type Secret struct{ held func(destroy bool) []byte }

// NewSecret takes the bytes over: the caller must neither use nor change them
// again.
func NewSecret(value []byte) Secret {
	return Secret{func(destroy bool) []byte {
		if destroy {
			clear(value)
			value = nil
		}
		return value
	}}
}

// Reveal returns the bytes themselves, nil after Destroy. Do not keep them, and
// put them nowhere that is written down. It is not to be called while another
// goroutine destroys the secret.
func (s Secret) Reveal() []byte {
	if s.held == nil {
		return nil
	}
	return s.held(false)
}

// Destroy overwrites the bytes, for all copies of the secret. It is best effort:
// what was made of them, such as the text of a header, the runtime may keep.
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

// LogValue is [secret].
func (s Secret) LogValue() slog.Value { return slog.StringValue(secretText) }

// MarshalJSON is refused.
func (s Secret) MarshalJSON() ([]byte, error) { return nil, ErrSecret }

// MarshalText is refused.
func (s Secret) MarshalText() ([]byte, error) { return nil, ErrSecret }

// MarshalBinary is refused.
func (s Secret) MarshalBinary() ([]byte, error) { return nil, ErrSecret }

// GobEncode is refused.
func (s Secret) GobEncode() ([]byte, error) { return nil, ErrSecret }
