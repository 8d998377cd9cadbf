package codec

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

const (
	// Encoding is the encoding in the metadata of an encrypted payload.
	Encoding = "binary/pawl-aes256gcm"
	// metaKey and metaTenant are the metadata that is needed to open a payload.
	metaKey    = "pawl-key"
	metaTenant = "pawl-tenant"
	// version is a part of the input of the key derivation and of the authenticated data.
	version = "pawl payload v1"
)

var (
	// ErrKey says that a payload is encrypted under a key that the ring lacks:
	// another process may have it.
	ErrKey = errors.New("codec: no such key")
	// ErrSealed says that a payload does not open: it was changed, moved to a call
	// of another tenant, or the key under that id is another one.
	ErrSealed = errors.New("codec: the payload does not open")
	// ErrPlain says that a payload is not encrypted, although all payloads must be encrypted.
	ErrPlain = errors.New("codec: the payload is not encrypted")
)

// Options of a codec.
type Options struct {
	// RefusePlain opens encrypted payloads only. Without it, payloads that were written before
	// encryption was switched on stay readable.
	RefusePlain bool
}

// Codec encrypts payloads with AES-256-GCM and decrypts them. In the workflow of a call, it knows the
// tenant of the call. Elsewhere, as in a codec server, it decrypts the payloads of all tenants and
// encrypts without a tenant.
type Codec struct {
	ring    *Ring
	options Options
	// call says that the codec serves the workflow of a call; tenant is the tenant of that call.
	call   bool
	tenant string
}

var (
	_ converter.PayloadCodec                         = (*Codec)(nil)
	_ converter.PayloadCodecWithSerializationContext = (*Codec)(nil)
)

// New returns a codec. With an empty ring, the codec leaves plain payloads unchanged and fails to
// decode an encrypted payload.
func New(ring *Ring, o Options) *Codec { return &Codec{ring: ring, options: o} }

// WithSerializationContext returns a codec for the payloads of one workflow.
func (c *Codec) WithSerializationContext(ctx converter.SerializationContext) converter.PayloadCodec {
	within := *c
	switch ctx := ctx.(type) {
	case converter.WorkflowSerializationContext:
		within.tenant, within.call = tenantOf(ctx.WorkflowID)
	case converter.ActivitySerializationContext:
		within.tenant, within.call = tenantOf(ctx.WorkflowID)
	}
	return &within
}

// tenantOf returns the tenant in a workflow id. call reports whether the id is that of a call:
// tool:TENANT:RUN:CALL.
func tenantOf(workflowID string) (tenant string, call bool) {
	kind, rest, _ := strings.Cut(workflowID, ":")
	tenant, _, ok := strings.Cut(rest, ":")
	if kind != "tool" && kind != "agent" && kind != "trigger" || !ok || !names.MatchString(tenant) {
		return "", false
	}
	return tenant, true
}

// Encode encrypts each payload that is not encrypted yet. With an empty key ring, it returns all payloads unchanged.
func (c *Codec) Encode(payloads []*common.Payload) ([]*common.Payload, error) {
	if c.ring.Empty() {
		return payloads, nil
	}
	sealed := make([]*common.Payload, len(payloads))
	for i, p := range payloads {
		if encodingOf(p) == Encoding {
			sealed[i] = p
			continue
		}
		var err error
		if sealed[i], err = c.seal(p); err != nil {
			return nil, err
		}
	}
	return sealed, nil
}

// Decode decrypts each payload. If one payload fails, Decode returns no payload at all.
func (c *Codec) Decode(payloads []*common.Payload) ([]*common.Payload, error) {
	opened := make([]*common.Payload, len(payloads))
	for i, p := range payloads {
		var err error
		if opened[i], err = c.open(p); err != nil {
			return nil, err
		}
	}
	return opened, nil
}

func (c *Codec) seal(p *common.Payload) (*common.Payload, error) {
	text, err := proto.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("codec: marshal a payload: %w", err)
	}
	k := c.ring.writer(c.tenant)
	aead, err := k.aead(c.tenant)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(text)+aead.Overhead())
	_, _ = rand.Read(nonce) // never fails
	return &common.Payload{
		Metadata: map[string][]byte{
			converter.MetadataEncoding: []byte(Encoding), metaKey: []byte(k.id), metaTenant: []byte(c.tenant),
		},
		Data: aead.Seal(nonce, nonce, text, bound(k.id, c.tenant)),
	}, nil
}

func (c *Codec) open(p *common.Payload) (*common.Payload, error) {
	if encodingOf(p) != Encoding {
		if c.options.RefusePlain && !c.ring.Empty() {
			return nil, ErrPlain
		}
		return p, nil
	}
	id, tenant := string(p.GetMetadata()[metaKey]), string(p.GetMetadata()[metaTenant])
	if !keyIDs.MatchString(id) {
		return nil, fmt.Errorf("%w: it names no key", ErrSealed)
	}
	if c.ring.Empty() || c.ring.keys[id] == nil {
		return nil, fmt.Errorf("%w: %s", ErrKey, id)
	}
	k := c.ring.keys[id]
	// A payload that was written outside of a call, for example by a codec server, may be read in
	// any call.
	if c.call && tenant != "" && tenant != c.tenant {
		return nil, fmt.Errorf("%w: it is of another tenant", ErrSealed)
	}
	aead, err := k.aead(tenant)
	if err != nil {
		return nil, err
	}
	if len(p.GetData()) < aead.NonceSize() {
		return nil, fmt.Errorf("%w: it is cut off", ErrSealed)
	}
	nonce, sealed := p.GetData()[:aead.NonceSize()], p.GetData()[aead.NonceSize():]
	text, err := aead.Open(nil, nonce, sealed, bound(id, tenant))
	if err != nil {
		return nil, fmt.Errorf("%w by the key %s", ErrSealed, id)
	}
	opened := &common.Payload{}
	if err := proto.Unmarshal(text, opened); err != nil {
		return nil, fmt.Errorf("%w: it holds no payload", ErrSealed)
	}
	return opened, nil
}

// bound returns the data that is authenticated with a payload, so that a payload with another key id
// or tenant does not open. The parts are separated by zero bytes, which no key id and no tenant
// contains.
func bound(keyID, tenant string) []byte {
	return []byte(strings.Join([]string{version, Encoding, keyID, tenant}, "\x00"))
}

// aead returns the cipher with the key of one tenant. Nonces are random, so a tenant needs a new key
// before it has 2³² payloads.
func (k *key) aead(tenant string) (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, k.secret, nil, version+"\x00"+tenant, keySize)
	if err != nil {
		return nil, fmt.Errorf("codec: derive a key: %w", err)
	}
	defer clear(derived)
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("codec: %w", err)
	}
	return cipher.NewGCM(block)
}

func encodingOf(p *common.Payload) string {
	return string(p.GetMetadata()[converter.MetadataEncoding])
}
