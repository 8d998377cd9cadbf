package codec

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"

	"github.com/pawl-run/pawl/broker/fingerprint"
)

const (
	// keySize is the size of a key of AES-256, in bytes.
	keySize = 32
	// maxKeys bounds a ring.
	maxKeys = 10_000
)

var (
	// names matches a tenant, as in workflow ids, and a key id without its tenant.
	names = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	// keyIDs matches a key id, with or without the tenant to which the key belongs.
	keyIDs = regexp.MustCompile(`^([A-Za-z0-9_.-]{1,64}/)?[A-Za-z0-9_.-]{1,64}$`)
)

// Ring is a set of keys. The zero value has none: it encrypts nothing and opens
// nothing.
type Ring struct {
	// writes are the keys that encrypt, by tenant; "" is for tenants without a key of their own.
	writes map[string]*key
	keys   map[string]*key
	order  []*key
}

// key is a key of a ring. If a key belongs to a tenant, its id begins with the name of the tenant.
type key struct {
	id, tenant string
	secret     []byte
}

// ParseRing reads a ring: a line for each key, `ID KEY` or `TENANT/ID KEY`, where KEY is 32 random
// bytes in base64. Empty lines and lines that begin with # are left out. For a tenant with keys of
// its own, the first of these keys encrypts; for others, the first key without a tenant. All keys
// decrypt. Errors name lines and ids, never a key.
func ParseRing(text []byte) (*Ring, error) {
	r := &Ring{writes: map[string]*key{}, keys: map[string]*key{}}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		k, err := parseKey(line)
		switch {
		case err != nil:
			return nil, fmt.Errorf("codec keys: line %d: %w", n, err)
		case r.keys[k.id] != nil:
			return nil, fmt.Errorf("codec keys: line %d: there is a key %s already", n, k.id)
		case len(r.order) == maxKeys:
			return nil, fmt.Errorf("codec keys: there are more than %d", maxKeys)
		}
		r.keys[k.id], r.order = k, append(r.order, k)
		if r.writes[k.tenant] == nil {
			r.writes[k.tenant] = k
		}
	}
	if len(r.order) == 0 {
		return nil, errors.New("codec keys: there are none; a line is an id, a space and 32 random bytes in base64")
	}
	if r.writes[""] == nil {
		return nil, errors.New("codec keys: all are of one tenant or another; one without a tenant is needed for the rest")
	}
	return r, nil
}

func parseKey(line []byte) (*key, error) {
	id, encoded, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		return nil, errors.New("a line is an id, a space and the key")
	}
	k := &key{id: string(id)}
	tenant, plain, owned := strings.Cut(k.id, "/")
	if owned {
		k.tenant = tenant
	} else {
		plain = k.id
	}
	if !names.MatchString(plain) || owned && !names.MatchString(tenant) {
		return nil, errors.New("the id is not 1 to 64 letters, digits, dots, dashes and underscores, with a tenant and a slash before it or without")
	}
	var err error
	if k.secret, err = base64.StdEncoding.DecodeString(string(bytes.TrimSpace(encoded))); err != nil || len(k.secret) != keySize {
		return nil, fmt.Errorf("the key %s is not %d bytes in base64", k.id, keySize)
	}
	if bytes.Count(k.secret, k.secret[:1]) == keySize {
		return nil, fmt.Errorf("the key %s is one byte again and again", k.id)
	}
	return k, nil
}

// Empty says that nothing is encrypted.
func (r *Ring) Empty() bool { return r == nil || len(r.order) == 0 }

// IDs are the keys in their order.
func (r *Ring) IDs() []string {
	if r == nil {
		return nil
	}
	ids := make([]string, len(r.order))
	for i, k := range r.order {
		ids[i] = k.id
	}
	return ids
}

// Secrets yields the keys, for a search of places that must not contain them.
func (r *Ring) Secrets() iter.Seq[fingerprint.Credential] {
	return func(yield func(fingerprint.Credential) bool) {
		if r == nil {
			return
		}
		for _, k := range r.order {
			if !yield(fingerprint.Credential{Label: "codec key " + k.id, Secret: k.secret}) {
				return
			}
		}
	}
}

// writer is the key that encrypts for a tenant.
func (r *Ring) writer(tenant string) *key {
	if k := r.writes[tenant]; k != nil {
		return k
	}
	return r.writes[""]
}
