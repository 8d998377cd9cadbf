package jsonschema

import (
	"encoding/base64"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/kaptinlin/jsonschema"
)

// formats holds the formats that the drafts define and that every draft enforces here. Other
// formats are annotations.
var formats = map[string]func(any) bool{
	"date-time": jsonschema.IsDateTime, "date": jsonschema.IsDate, "time": jsonschema.IsTime, "duration": jsonschema.IsDuration,
	"email": jsonschema.IsEmail, "hostname": jsonschema.IsHostname, "ipv4": jsonschema.IsIPV4, "ipv6": jsonschema.IsIPV6,
	"uri": newTextCheck(uriText, jsonschema.IsURI), "uri-reference": newTextCheck(uriText, jsonschema.IsURIReference),
	"iri": newTextCheck(iriText, jsonschema.IsURI), "iri-reference": newTextCheck(iriText, jsonschema.IsURIReference),
	"uri-template": newTextCheck(templateText, nil), "json-pointer": jsonschema.IsJSONPointer, "relative-json-pointer": jsonschema.IsRelativeJSONPointer,
	"uuid": jsonschema.IsUUID, "regex": isRegex,
}

// The characters of a URI (RFC 3986), the characters of an IRI (RFC 3987), and the grammar of a URI
// template (RFC 6570).
var (
	uriText      = regexp.MustCompile(`^(?:[A-Za-z0-9._~:/?@!$&'()*+,;=\[\]#-]|%[0-9A-Fa-f]{2})*$`)
	iriText      = regexp.MustCompile(`^(?:[A-Za-z0-9._~:/?@!$&'()*+,;=\[\]#\x{A0}-\x{10FFFD}-]|%[0-9A-Fa-f]{2})*$`)
	templateText = regexp.MustCompile(`^(?:[^\x00-\x20"%<>\\^\x60{|}\x7F-\x9F]|%[0-9A-Fa-f]{2}|\{[+#./;?&=,!@|]?` + variable + `(?:,` + variable + `)*\})*$`)
)

// variable is the grammar of one variable of a URI template, with its modifier.
const variable = `(?:\w|%[0-9A-Fa-f]{2})(?:\.?(?:\w|%[0-9A-Fa-f]{2}))*(?:\*|:[1-9][0-9]{0,3})?`

// newTextCheck returns a check that accepts a string if the string matches form and further accepts
// it too. A nil further accepts every string. The check accepts every value that is not a string,
// because a format applies to strings only.
func newTextCheck(form *regexp.Regexp, further func(any) bool) func(any) bool {
	return func(v any) bool {
		text, ok := v.(string)
		return !ok || form.MatchString(text) && (further == nil || further(v))
	}
}

// onlyECMA matches syntax of ECMA-262 that RE2 does not have: lookaround, backreferences, and
// characters by their number.
var onlyECMA = regexp.MustCompile(`\(\?<?[=!]|\\[1-9]|\\k<[^>]*>|\\c[A-Za-z]|\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]{1,6}\}`)

// counts matches repetitions. RE2 bounds them and ECMA-262 does not.
var counts = regexp.MustCompile(`\{([0-9]+)(?:,([0-9]*))?\}`)

// onlyRE2 reports whether text has a group that RE2 has and ECMA-262 does not have, such as (?i)
// and (?P<name>.
func onlyRE2(text string) bool {
	class := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case class:
			class = text[i] != ']'
		case text[i] == '[':
			class = true
		case strings.HasPrefix(text[i:], "(?") && (i+2 == len(text) || !strings.ContainsRune(":=!<", rune(text[i+2]))):
			return true
		}
	}
	return false
}

// isRegex accepts regular expressions of ECMA-262, as far as RE2 can check them.
func isRegex(v any) bool {
	text, ok := v.(string)
	if !ok {
		return true
	}
	if onlyRE2(text) {
		return false
	}
	text = onlyECMA.ReplaceAllStringFunc(text, func(found string) string {
		if found[0] == '(' {
			return "(?:"
		}
		return "x"
	})
	text = counts.ReplaceAllStringFunc(text, func(found string) string {
		bounds := counts.FindStringSubmatch(found)
		low, most := strings.TrimLeft(bounds[1], "0"), strings.TrimLeft(bounds[2], "0")
		if bounds[2] != "" && (len(low) > len(most) || len(low) == len(most) && low > most) {
			return "{2,1}" // out of order, so RE2 refuses it
		}
		return "{1}"
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
