package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// Kind is the way in which a credential authenticates a request.
type Kind string

// The kinds.
const (
	// APIKey is put into a header or the query.
	APIKey Kind = "api_key"
	// Bearer is a token that does not change (RFC 6750).
	Bearer Kind = "bearer"
	// Basic is a name and a password (RFC 7617).
	Basic Kind = "basic"
	// OAuth is a token that is refreshed (RFC 6749).
	OAuth Kind = "oauth2"
	// Signed signs every request.
	Signed Kind = "signed"
)

// Valid reports whether it is one of the kinds.
func (k Kind) Valid() bool { return slices.Contains([]Kind{APIKey, Bearer, Basic, OAuth, Signed}, k) }

// Names of what credentials consist of.
const (
	FieldKey          = "key"
	FieldToken        = "token"
	FieldUsername     = "username"
	FieldPassword     = "password"
	FieldClientID     = "client_id"
	FieldClientSecret = "client_secret"
	FieldAccessToken  = "access_token"
	FieldRefreshToken = "refresh_token"
)

// Bounds of a credential.
const (
	maxFields = 16
	maxField  = 16 << 10
)

// Credential is the parts that authenticate, by name. The zero value has no parts.
type Credential struct{ parts map[string]Secret }

// NewCredential makes a credential and takes ownership of the parts.
func NewCredential(parts map[string]Secret) Credential { return Credential{parts} }

// Get returns a part, or an empty secret if the credential has no such part.
func (c Credential) Get(name string) Secret { return c.parts[name] }

// Names returns the sorted names of the parts.
func (c Credential) Names() []string { return slices.Sorted(maps.Keys(c.parts)) }

// With returns the credential with one part added or replaced. It does not destroy the replaced
// part.
func (c Credential) With(name string, value Secret) Credential {
	parts := maps.Clone(c.parts)
	if parts == nil {
		parts = map[string]Secret{}
	}
	parts[name] = value
	return Credential{parts}
}

// Destroy overwrites every part.
func (c Credential) Destroy() {
	for _, s := range c.parts {
		s.Destroy()
	}
}

// String returns the names of the parts without their values.
func (c Credential) String() string { return "credential of " + strings.Join(c.Names(), ", ") }

// needs returns the names of the parts that a credential of the kind must have and may have. It
// returns none for Signed: the signer of the provider has its own parts.
func (k Kind) needs() (required, optional []string) {
	switch k {
	case APIKey:
		return []string{FieldKey}, nil
	case Bearer:
		return []string{FieldToken}, nil
	case Basic:
		return []string{FieldUsername, FieldPassword}, nil
	case OAuth:
		return []string{FieldClientID}, []string{FieldClientSecret, FieldAccessToken, FieldRefreshToken}
	case Signed:
	}
	return nil, nil
}

// CheckCredential returns an error if the parts do not match the provider's kind, or cannot be put
// into a request. The error names parts and has no values.
func (p Provider) CheckCredential(c Credential, signers Signers) error {
	required, optional, err := p.Parts(signers)
	if err != nil {
		return err
	}
	for _, name := range required {
		if len(c.Get(name).Reveal()) == 0 {
			return fmt.Errorf("a credential of the kind %s needs %s", p.Kind, name)
		}
	}
	for _, name := range c.Names() {
		value := c.Get(name).Reveal()
		switch {
		case !slices.Contains(required, name) && !slices.Contains(optional, name):
			return fmt.Errorf("a credential of the kind %s has no part %q", p.Kind, name)
		case len(value) > maxField:
			return fmt.Errorf("%s has more than %d bytes", name, maxField)
		case p.Kind != Signed && (!utf8.Valid(value) || bytes.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f })):
			return fmt.Errorf("%s holds a control character: is it the file of another secret, or does it end with an empty line", name)
		case p.Kind == Basic && name == FieldUsername && bytes.IndexByte(value, ':') >= 0:
			return errors.New("a username of the kind basic holds no colon")
		}
	}
	return nil
}

// encode returns the parts as JSON, to be sealed. The caller clears the result.
func (c Credential) encode() ([]byte, error) {
	plain := make(map[string][]byte, len(c.parts))
	for name, s := range c.parts {
		plain[name] = s.Reveal()
	}
	return json.Marshal(plain)
}

// decodeCredential reads the result of encode.
func decodeCredential(plain []byte) (Credential, error) {
	var parts map[string][]byte
	if err := json.Unmarshal(plain, &parts); err != nil || len(parts) > maxFields {
		return Credential{}, errSealed // the error of the decoder may quote a secret
	}
	c := Credential{make(map[string]Secret, len(parts))}
	for name, value := range parts {
		c.parts[name] = capability.NewSecret(value)
	}
	return c, nil
}

var errSealed = errors.New("the sealed value is not a credential")
