package db

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Text returns s as a text column can store it. Postgres refuses NUL and invalid UTF-8; Text
// replaces them, because a call must not fail to settle if an approver's reason contains them.
func Text[S ~string](s S) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(s), "\uFFFD"), "\x00", "\uFFFD")
}

// Document returns a JSON document as a json column can store it, or nil for an empty one. It
// replaces invalid UTF-8, because a hook may return strings that contain it.
func Document(raw json.RawMessage) *string {
	if len(raw) == 0 {
		return nil
	}
	s := string(bytes.ToValidUTF8(raw, []byte("\uFFFD")))
	return &s
}

// Encoded returns v as a JSON document.
func Encoded(v any) (*string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return Document(raw), nil
}

// Decoded reads a document that Encoded wrote.
func Decoded[T any](raw json.RawMessage) (T, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}

// DecodedStrict is Decoded for documents in which no key may be ignored. A newer release may have stored a key that this release does
// not know, such as another limit.
func DecodedStrict[T any](op string, raw json.RawMessage) (T, error) {
	var v, none T
	decode := json.NewDecoder(bytes.NewReader(raw))
	decode.DisallowUnknownFields()
	if decode.Decode(&v) != nil {
		return none, &Error{Op: op, State: "this release cannot read the stored version"}
	}
	return v, nil
}

// Optional reads a document that Encoded wrote, or nil if there is none.
func Optional[T any](raw json.RawMessage) (*T, error) {
	if raw == nil {
		return nil, nil
	}
	return Decoded[*T](raw)
}

// Column returns one field of each row. A statement takes the fields of many rows as arrays, and unnests them.
func Column[R, V any](rows []R, field func(R) V) []V {
	values := make([]V, len(rows))
	for i, r := range rows {
		values[i] = field(r)
	}
	return values
}

// Bounds of a list, in rows.
const (
	defaultList = 50
	// MaxList is the maximum number of rows of a list.
	MaxList = 500
)

// Limit returns the number of rows of a list if n are wanted: at most MaxList, and 50 if n is 0
// or negative.
func Limit(n int) int {
	if n <= 0 {
		return defaultList
	}
	return min(n, MaxList)
}
