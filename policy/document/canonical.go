package document

import (
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Canonical returns v as RFC 8785 JSON. v is plain data, such as a Document: it panics if v
// cannot be written as JSON.
func Canonical(v any) []byte {
	raw, err := json.Marshal(v)
	if err == nil {
		raw, err = strictjson.Canonical(raw)
	}
	if err != nil {
		panic(fmt.Sprintf("policy: plain data cannot be written as JSON: %v", err))
	}
	return raw
}
