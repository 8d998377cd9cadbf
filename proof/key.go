package proof

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
)

const (
	privateBlock = "PRIVATE KEY"
	publicBlock  = "PUBLIC KEY"
)

// Key is a public key. The keys of approvers are registered for a tenant.
type Key struct{ public ed25519.PublicKey }

// Signer is a private key. It prints as the id of its key.
type Signer struct{ private ed25519.PrivateKey }

// NewSigner makes a key pair of the system's randomness.
func NewSigner() (Signer, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Signer{}, fmt.Errorf("proof: new key: %w", err)
	}
	return Signer{private}, nil
}

// ParseSigner reads PKCS #8 in PEM, as Encode writes it.
func ParseSigner(text []byte) (Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != privateBlock {
		return Signer{}, errors.New("proof: that is no private key in PEM (-----BEGIN PRIVATE KEY-----)")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return Signer{}, errors.New("proof: that is no Ed25519 key in PKCS #8; `pawl keys new` makes one")
	}
	return Signer{private}, nil
}

// Encode returns the key as PKCS #8 in PEM. It is a secret.
func (s Signer) Encode() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(s.private)
	if err != nil {
		return nil, fmt.Errorf("proof: encode the private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: der}), nil
}

// Private returns a copy of the private key, to sign something other than a decision.
func (s Signer) Private() ed25519.PrivateKey { return append(ed25519.PrivateKey(nil), s.private...) }

// Key is the public half.
func (s Signer) Key() Key {
	return Key{s.private.Public().(ed25519.PublicKey)} //nolint:errcheck,forcetypeassert // the type's own contract
}

// String names the key, and nothing of its secret.
func (s Signer) String() string { return s.Key().ID() }

// GoString is String, for %#v.
func (s Signer) GoString() string { return s.String() }

// Format is String for every verb.
func (s Signer) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// MarshalJSON is String: the secret leaves by Encode only.
func (s Signer) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// ParseKey reads a public key in PEM (RFC 8410), as Encode writes it.
func ParseKey(text []byte) (Key, error) {
	block, _ := pem.Decode(text)
	if block != nil && block.Type == privateBlock {
		return Key{}, errors.New("proof: that is a private key; register the public half, and tell nobody the private one")
	}
	if block == nil || block.Type != publicBlock {
		return Key{}, errors.New("proof: that is no public key in PEM (-----BEGIN PUBLIC KEY-----)")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	public, ok := parsed.(ed25519.PublicKey)
	if err != nil || !ok {
		return Key{}, errors.New("proof: that is no Ed25519 key; `pawl keys new` makes one")
	}
	return Key{public}, nil
}

// KeyOf is the key of raw bytes, as Bytes returns them.
func KeyOf(raw []byte) (Key, error) {
	if len(raw) != ed25519.PublicKeySize {
		return Key{}, fmt.Errorf("proof: a public key has %d bytes, not %d", ed25519.PublicKeySize, len(raw))
	}
	return Key{append(ed25519.PublicKey(nil), raw...)}, nil
}

// Bytes are the 32 bytes of the key.
func (k Key) Bytes() []byte { return append([]byte(nil), k.public...) }

// Encode returns the key in PEM.
func (k Key) Encode() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(k.public)
	if err != nil {
		return nil, fmt.Errorf("proof: encode the public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: publicBlock, Bytes: der}), nil
}

// ID is the RFC 7638 thumbprint of the key: SHA-256 in unpadded base64url, 43
// characters.
func (k Key) ID() string {
	jwk := fmt.Sprintf(`{"crv":"Ed25519","kty":"OKP","x":%q}`, base64.RawURLEncoding.EncodeToString(k.public))
	sum := sha256.Sum256([]byte(jwk))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
