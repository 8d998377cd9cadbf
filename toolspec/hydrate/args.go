package hydrate

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/schema"
)

// Args parses arguments: an object, or a string that holds the JSON of one.
// Absent arguments are {}. Numbers that float64 cannot hold exactly are
// refused, so that no two arguments share a digest.
func Args(raw json.RawMessage) (json.RawMessage, *Fault) {
	raw = given(raw)
	if text, isString := stringOf(raw); isString {
		raw = json.RawMessage(text)
		if schema.CheckJSON(raw) != nil && !json.Valid(raw) {
			return nil, unparsed()
		}
	}
	if p := schema.CheckNumbers(raw); p != nil {
		f := faultOf(p)
		if p.Kind == schema.KindInvalidJSON {
			f.Code = toolspec.CodeInvalidJSON
		}
		return nil, f
	}
	if f := findSecret(raw, true); f != nil {
		return nil, f
	}
	canonical, err := schema.Canonical(raw)
	if err != nil {
		return nil, unparsed()
	}
	if canonical[0] != '{' {
		return nil, fault("", string(schema.KindTypeMismatch), "the arguments must be a JSON object")
	}
	return canonical, nil
}

// given are the arguments as they count: absent and null mean {}.
func given(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage(`{}`)
	}
	return raw
}

func unparsed() *Fault {
	return &Fault{Code: toolspec.CodeInvalidJSON, Problem: toolspec.Problem{
		Kind: string(schema.KindInvalidJSON), Message: toolspec.InfoOf(toolspec.CodeInvalidJSON).Message,
	}}
}

func stringOf(raw json.RawMessage) (string, bool) {
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}
