package audit

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/pawl-run/pawl/proof"
)

// Head says what the chain of a tenant was at seal N. The signature covers its JSON without the signature.
type Head struct {
	// TenantID is empty for events that belong to no tenant.
	TenantID string    `json:"tenantId"`
	N        int64     `json:"n"`
	Link     []byte    `json:"link"`
	At       time.Time `json:"at"`
	// RetentionDays is how long the worker kept calls then.
	RetentionDays int `json:"retentionDays"`
	// After is the N of the previous head, 0 for the first head. So a verification notices a head that was
	// deleted.
	After int64 `json:"after"`
	// KeyID and Signature are empty for a head of a worker without a key.
	KeyID     string `json:"keyId"`
	Signature []byte `json:"signature,omitempty"`
}

// Sign signs the head with an Ed25519 key.
func (h Head) Sign(with proof.Signer) Head {
	h.KeyID = with.Key().ID()
	h.Signature = ed25519.Sign(with.Private(), h.signed())
	return h
}

// IsSignedBy reports whether the head has the signature of the key.
func (h Head) IsSignedBy(key proof.Key) bool {
	return h.KeyID == key.ID() && ed25519.Verify(key.Bytes(), h.signed(), h.Signature)
}

func (h Head) signed() []byte {
	// A time beyond the year 9999 has no JSON; no worker signs it.
	if h.Signature, h.At = nil, h.At.UTC().Truncate(time.Microsecond); h.At.Year() < 1 || h.At.Year() > 9999 {
		h.At = time.Time{}
	}
	return append([]byte(headKind), canonical(h)...)
}

// Next returns the unsigned head at the last of the seals, which follow the previous head. There must be at
// least one seal. For a new chain the previous head is the zero Head.
func Next(before Head, tenantID string, seals []Seal, at time.Time, retentionDays int) Head {
	last := seals[len(seals)-1]
	return Head{TenantID: tenantID, N: last.N, Link: last.Link, At: at, RetentionDays: retentionDays, After: before.N}
}

// ParseHeads reads exported heads: JSON values one after another, each of them a head or a list of heads.
func ParseHeads(text []byte) (heads []Head, err error) {
	values := json.NewDecoder(bytes.NewReader(text))
	for {
		var raw json.RawMessage
		if err := values.Decode(&raw); errors.Is(err, io.EOF) {
			return heads, nil
		} else if err != nil {
			return nil, errNoHead
		}
		list := make([]Head, 1)
		if raw[0] == '[' {
			err = json.Unmarshal(raw, &list)
		} else {
			err = json.Unmarshal(raw, &list[0])
		}
		if err != nil {
			return nil, errNoHead
		}
		for _, h := range list {
			if h.N < 1 || len(h.Link) != HashSize {
				return nil, errNoHead
			}
		}
		heads = append(heads, list...)
	}
}

var errNoHead = errors.New("it is no list of heads: `pawl audit head` writes one")
