package jsonschema

import (
	"strings"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// maxRuleBytes bounds the text of a rule, because enumerations can be long.
const maxRuleBytes = 200

func invalid(at strictjson.Path, rule string) string {
	message := "Invalid value for field: " + at.Field()
	if rule != "" {
		message += " (" + brief(rule) + ")"
	}
	return message
}

// values returns a list of constants of the schema, as long as a message allows.
func values(list []any) string {
	var b strings.Builder
	for i, value := range list {
		if b.Len() > maxRuleBytes {
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		raw, err := strictjson.Encode(value)
		if err != nil {
			raw = []byte("?")
		}
		b.Write(raw)
	}
	return strictjson.Printable(b.String())
}

func brief(text string) string {
	if len(text) <= maxRuleBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxRuleBytes], "") + "…"
}
