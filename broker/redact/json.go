package redact

import (
	"bytes"
	"encoding/json"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// JSON returns a JSON value with [fingerprint.Redacted] in the place of each secret in its strings
// and names of members. It returns a value without secrets as it is. ok is false if the value is
// not JSON, or if a secret is left, for example because it is cut over several strings: the caller
// must then use no part of the value.
func JSON(value []byte, secrets *fingerprint.Set) (clean []byte, ok bool) {
	if secrets == nil || len(secrets.Find(value)) == 0 {
		return value, true
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return nil, false
	}
	clean, err := strictjson.Encode(within(v, secrets))
	if err != nil || len(secrets.Find(clean)) > 0 {
		return nil, false
	}
	return clean, true
}

func within(v any, secrets *fingerprint.Set) any {
	switch v := v.(type) {
	case string:
		return secrets.Redact(v)
	case []any:
		for i, item := range v {
			v[i] = within(item, secrets)
		}
		return v
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, item := range v {
			clean[secrets.Redact(name)] = within(item, secrets)
		}
		return clean
	default:
		return v
	}
}
