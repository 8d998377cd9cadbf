package jsonschema

import (
	"encoding/base64"
	"regexp"
	"regexp/syntax"

	"github.com/kaptinlin/jsonschema"
)

// formats are the names that the drafts define and that are enforced, in every
// draft; all others are annotations.
var formats = map[string]func(any) bool{
	"date-time": jsonschema.IsDateTime, "date": jsonschema.IsDate, "time": jsonschema.IsTime, "duration": jsonschema.IsDuration,
	"email": jsonschema.IsEmail, "hostname": jsonschema.IsHostname, "ipv4": jsonschema.IsIPV4, "ipv6": jsonschema.IsIPV6,
	"uri": jsonschema.IsURI, "uri-reference": jsonschema.IsURIReference, "iri": jsonschema.IsURI, "iri-reference": jsonschema.IsURIReference,
	"uri-template": jsonschema.IsURITemplate, "json-pointer": jsonschema.IsJSONPointer, "relative-json-pointer": jsonschema.IsRelativeJSONPointer,
	"uuid": jsonschema.IsUUID, "regex": isRegex,
}

// onlyECMA is what ECMA-262 has and RE2 does not: looking around and back.
var onlyECMA = regexp.MustCompile(`\(\?<?[=!]|\\[1-9]|\\k<[^>]*>|\\c[A-Za-z]|\\u[0-9A-Fa-f]{4}`)

// isRegex takes what is a regular expression of ECMA-262 as far as RE2 can tell.
func isRegex(v any) bool {
	text, ok := v.(string)
	if !ok {
		return true
	}
	text = onlyECMA.ReplaceAllStringFunc(text, func(found string) string {
		if found[0] == '(' {
			return "(?:"
		}
		return "x"
	})
	_, err := syntax.Parse(text, syntax.Perl)
	return err == nil
}

func isBase64(text string) bool {
	_, err := base64.StdEncoding.DecodeString(text)
	return err == nil
}

// IsFormat reports whether a format of this name is enforced.
func IsFormat(name string) bool { return formats[name] != nil }
