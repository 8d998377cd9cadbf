package postgres

import (
	"bytes"
	"encoding/json"
	"strings"
)

// text is s as a text column can hold it: Postgres refuses the character NUL and what is not UTF-8, and a call must not fail to settle
// because an approver's reason has one.
func text[S ~string](s S) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(s), "\uFFFD"), "\x00", "\uFFFD")
}

// document is a JSON document as a json column can hold it; nil for none. A hook may hand over strings that are not UTF-8.
func document(raw json.RawMessage) *string {
	if len(raw) == 0 {
		return nil
	}
	s := string(bytes.ToValidUTF8(raw, []byte("\uFFFD")))
	return &s
}

// encoded is v as a JSON document.
func encoded(v any) (*string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return document(raw), nil
}

// decoded reads a document that this package wrote.
func decoded[T any](raw json.RawMessage) (T, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}
