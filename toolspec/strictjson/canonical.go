package strictjson

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
// [Check] refuses. It rounds numbers to float64 as the RFC says: where that
// would merge two values, callers ask [ExactNumber] first.
func Canonical(raw []byte) ([]byte, error) {
	t, fault := Read(raw)
	defer t.Release()
	if fault != nil {
		return nil, fmt.Errorf("canonical form: %w", fault)
	}
	return t.AppendCanonical(make([]byte, 0, len(raw))), nil
}

// AppendCanonical appends the whole value, of a text without fault, as [Canonical]
// writes it.
func (t *Tape) AppendCanonical(b []byte) []byte { return t.appendValue(b, 0) }

// appendValue appends the value at i in the form of RFC 8785. t.order is a stack: it has the places of the names of each
// object that is open.
func (t *Tape) appendValue(b []byte, i int) []byte {
	switch it := t.Items[i]; it.Kind {
	case '{':
		from := len(t.order)
		for j := i + 1; j < int(it.Next); j = int(t.Items[j+1].Next) {
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
			b = t.quoted(b, t.order[k])
			b = t.appendValue(append(b, ':'), t.order[k]+1)
		}
		t.order = t.order[:from]
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for j := i + 1; j < int(it.Next); j = int(t.Items[j].Next) {
			if j > i+1 {
				b = append(b, ',')
			}
			b = t.appendValue(b, j)
		}
		return append(b, ']')
	case '"':
		return t.quoted(b, i)
	case '0':
		literal := t.Bytes(i)
		if PlainInteger(literal) && string(literal) != "-0" {
			return append(b, literal...)
		}
		number := jsontext.Value(bytes.Clone(literal))
		_ = number.Canonicalize() // a number that was read has a canonical form
		return append(b, number...)
	default:
		return append(b, t.Bytes(i)...)
	}
}

// quoted appends a string or a name. A string that is written without escapes is canonical as it
// is, because the canonical form escapes only the characters that JSON requires to escape.
func (t *Tape) quoted(b []byte, i int) []byte {
	if !t.Items[i].Escaped {
		b = append(b, '"')
		b = append(b, t.Bytes(i)...)
		return append(b, '"')
	}
	b, _ = jsontext.AppendQuote(b, t.Text(i)) // text that was read is UTF-8
	return b
}

// Quote returns text as a JSON string in canonical form. It fails if text is not
// UTF-8.
func Quote(text []byte) ([]byte, error) {
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return nil, fmt.Errorf("quote a text: %w", err)
	}
	return quoted, nil
}

// byName orders names by their UTF-16 code units, as the RFC says.
func (t *Tape) byName(i, j int) int {
	a, b := t.Bytes(i), t.Bytes(j)
	if t.Items[i].Escaped || t.Items[j].Escaped || !ascii(a) || !ascii(b) {
		return slices.Compare(utf16.Encode([]rune(t.Text(i))), utf16.Encode([]rune(t.Text(j))))
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
