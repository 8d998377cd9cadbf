package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// HashSize is the length of a hash in bytes.
const HashSize = sha256.Size

// Each hash covers the kind of its value first, so that no value of one kind can pose as a value of another.
const (
	rowKind   = "pawl audit row 1\n"
	linkKind  = "pawl audit link 1\n"
	startKind = "pawl audit start 1\n"
	headKind  = "pawl audit head 1\n"
)

// Row is an event of the record. The chain has the hash of its JSON, so the names and the order of the fields are fixed.
type Row struct {
	ID string `json:"id"`
	// Month is the first day of the month by which retention deletes the event, such as 2026-11-01.
	Month string `json:"month"`
	// At is a text, so that it can hold every value of the column: UTC with microseconds, such as 2026-11-27T03:48:10.000000Z.
	At           string `json:"at"`
	Kind         string `json:"kind"`
	TenantID     string `json:"tenantId"`
	InvocationID string `json:"invocationId"`
	WorkflowID   string `json:"workflowId"`
	AuditID      string `json:"auditId"`
	Seq          int    `json:"seq"`
	// Detail is JSON, or nil.
	Detail json.RawMessage `json:"detail"`
}

// Canonical returns the JSON of the row without insignificant white space. It keeps the order of the keys and the notation of the
// numbers in Detail. A Detail that is too deep for a parser becomes a string.
func (r Row) Canonical() []byte {
	if r.Detail != nil && !json.Valid(r.Detail) {
		r.Detail = canonical(string(r.Detail))
	}
	return canonical(r)
}

// canonical returns v as JSON without white space and without the escapes for HTML, so that a raw value stays as it is. The types of this
// package have no value without JSON.
func canonical(v any) []byte {
	text, err := strictjson.Encode(v)
	if err != nil {
		panic(err)
	}
	return text
}

// Leaf returns the hash of the row.
func (r Row) Leaf() []byte { return sum(rowKind, r.Canonical()) }

// Seal is the place of a row in the chain of its tenant. It has the month and the id of the row too, so that they are known when
// retention has deleted the row.
type Seal struct {
	N       int64
	Month   string
	EventID string
	Leaf    []byte
	// Link is the hash of the link of the seal before and of the fields above.
	Link []byte
}

// Start returns the link before the first seal of a tenant.
func Start(tenantID string) []byte { return sum(startKind, []byte(tenantID)) }

// LinkAfter returns the link that the seal must have if before is the link of the previous seal.
func (s Seal) LinkAfter(before []byte) []byte {
	text := append(fixed(before), binary.BigEndian.AppendUint64(nil, uint64(s.N))...) //nolint:gosec // the sign does not matter in a hash
	text = append(text, fixed(s.Leaf)...)
	return sum(linkKind, fmt.Append(text, s.Month, "\n", s.EventID))
}

// fixed returns a copy of a hash. If an attacker has made the stored hash longer or shorter, it returns the hash of that text, so that the
// parts of a sealed text always have the same lengths.
func fixed(hash []byte) []byte {
	if len(hash) != HashSize {
		return sum("", hash)
	}
	return bytes.Clone(hash)
}

func sum(kind string, text []byte) []byte {
	h := sha256.New()
	h.Write([]byte(kind))
	h.Write(text)
	return h.Sum(nil)
}

// Extend returns the seals of rows, in their order. n and before are the number and the link of the last seal of the chain; they are 0 and
// Start for a new chain.
func Extend(n int64, before []byte, rows []Row) []Seal {
	seals := make([]Seal, 0, len(rows))
	for _, r := range rows {
		n++
		s := Seal{N: n, Month: r.Month, EventID: r.ID, Leaf: r.Leaf()}
		s.Link = s.LinkAfter(before)
		before = s.Link
		seals = append(seals, s)
	}
	return seals
}
