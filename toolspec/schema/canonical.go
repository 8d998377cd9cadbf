package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns raw in the canonical form of RFC 8785. It refuses what
// [CheckJSON] refuses. It rounds numbers to float64 as the RFC says: where that
// would merge two values, callers ask [ExactNumber] first.
func Canonical(raw []byte) ([]byte, error) {
	t := borrow()
	defer t.done()
	if !t.read(raw) {
		return nil, fmt.Errorf("canonical form: %w", CheckJSON(raw))
	}
	b, err := t.canonical(make([]byte, 0, len(raw)), 0)
	if err != nil {
		return nil, fmt.Errorf("canonical form: %w", err)
	}
	return b, nil
}

// canonical appends the value at i in the form of RFC 8785.
func (t *tape) canonical(b []byte, i int) ([]byte, error) {
	var err error
	switch it := t.items[i]; it.kind {
	case '{':
		from := len(t.order)
		for j := i + 1; j < int(it.next); j = int(t.items[j+1].next) {
			t.order = append(t.order, j)
		}
		to := len(t.order)
		if members := t.order[from:]; !slices.IsSortedFunc(members, t.byName) {
			slices.SortFunc(members, t.byName)
		}
		b = append(b, '{')
		for k := from; k < to; k++ {
			if k > from {
				b = append(b, ',')
			}
			if b, err = t.quoted(b, t.order[k]); err != nil {
				return nil, err
			}
			if b, err = t.canonical(append(b, ':'), t.order[k]+1); err != nil {
				return nil, err
			}
		}
		t.order = t.order[:from]
		return append(b, '}'), nil
	case '[':
		b = append(b, '[')
		for j := i + 1; j < int(it.next); j = int(t.items[j].next) {
			if j > i+1 {
				b = append(b, ',')
			}
			if b, err = t.canonical(b, j); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case '"':
		return t.quoted(b, i)
	case '0':
		literal := t.bytes(i)
		if PlainInteger(literal) && string(literal) != "-0" {
			return append(b, literal...), nil
		}
		value := jsontext.Value(bytes.Clone(literal))
		err := value.Canonicalize()
		return append(b, value...), err
	default:
		return append(b, t.bytes(i)...), nil
	}
}

// quoted appends a string or a name. One without escapes is canonical as it
// stands: only what must be escaped may be.
func (t *tape) quoted(b []byte, i int) ([]byte, error) {
	if !t.items[i].escaped {
		b = append(b, '"')
		b = append(b, t.bytes(i)...)
		return append(b, '"'), nil
	}
	return jsontext.AppendQuote(b, t.string(i))
}

// byName orders names by their UTF-16 code units, as the RFC says.
func (t *tape) byName(i, j int) int {
	a, b := t.bytes(i), t.bytes(j)
	if t.items[i].escaped || t.items[j].escaped || !ascii(a) || !ascii(b) {
		return slices.Compare(utf16.Encode([]rune(t.string(i))), utf16.Encode([]rune(t.string(j))))
	}
	return bytes.Compare(a, b)
}

func ascii(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Digest is the lower-case hex SHA-256 of [Canonical].
func Digest(raw []byte) (string, error) {
	canonical, err := Canonical(raw)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}
