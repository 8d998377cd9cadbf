package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Bounds of a secret, in bytes, from Standard Webhooks, and the maximum number of secrets.
const (
	minSecret  = 24
	maxSecret  = 64
	maxSecrets = 4
)

// secretPrefix is the prefix of a secret in a configuration.
const secretPrefix = "whsec_"

// Secrets sign messages. While an operator replaces a secret, there are two, and receivers accept both. Secrets
// print nothing of themselves.
type Secrets struct{ keys [][]byte }

// ParseSecrets reads secrets between white space, each whsec_ and the base64 of 24 to 64 bytes. The prefix may be left out. The error does
// not repeat them.
func ParseSecrets(text string) (Secrets, error) {
	var s Secrets
	for _, word := range strings.Fields(text) {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(word, secretPrefix))
		if err != nil || len(key) < minSecret || len(key) > maxSecret {
			return Secrets{}, fmt.Errorf("a secret is %s and the base64 of %d to %d random bytes, as `openssl rand -base64 32` makes them", secretPrefix, minSecret, maxSecret)
		}
		s.keys = append(s.keys, key)
	}
	switch {
	case len(s.keys) == 0:
		return Secrets{}, errors.New("there is no secret in it")
	case len(s.keys) > maxSecrets:
		return Secrets{}, fmt.Errorf("there are more than %d secrets in it", maxSecrets)
	}
	return s, nil
}

// Register passes each secret, with its number from 1, to add, which registers it for redaction.
func (s Secrets) Register(add func(n int, key []byte) error) error {
	for i, key := range s.keys {
		if err := add(i+1, key); err != nil {
			return err
		}
	}
	return nil
}

// String returns a fixed text, so that printing the secrets by mistake does not reveal them.
func (Secrets) String() string { return "[secret]" }

// GoString returns the same text as String.
func (Secrets) GoString() string { return "[secret]" }

// MarshalText returns the same text as String.
func (Secrets) MarshalText() ([]byte, error) { return []byte("[secret]"), nil }

// sign returns the header webhook-signature: for each secret v1, and the HMAC-SHA256 of id, time and body.
func (s Secrets) sign(id string, at time.Time, body []byte) string {
	signatures := make([]string, len(s.keys))
	for i, key := range s.keys {
		mac := hmac.New(sha256.New, key)
		_, _ = fmt.Fprintf(mac, "%s.%d.", id, at.Unix()) // a hash takes everything
		_, _ = mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " ")
}
