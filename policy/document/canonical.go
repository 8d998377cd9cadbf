package document

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Canonical returns v as RFC 8785 JSON. It works for plain data only: ASCII keys, whole numbers
// below 2^53 and printable text. For such data, Go's JSON with sorted keys is RFC 8785 JSON.
func Canonical(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("policy: plain data cannot be written as JSON: %v", err))
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var plain any
	if err := dec.Decode(&plain); err != nil {
		panic(fmt.Sprintf("policy: JSON just written cannot be read: %v", err))
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(plain); err != nil {
		panic(fmt.Sprintf("policy: plain data cannot be written as JSON: %v", err))
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
