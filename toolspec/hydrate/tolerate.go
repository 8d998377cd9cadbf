package hydrate

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The tolerances: what the parser overlooks, by name. No tolerance changes the meaning of a text;
// [Repairer] does.
const (
	// ToleratedString: the arguments are a JSON string that contains the JSON of an object, one
	// level deep.
	ToleratedString = "string_wrapped"
	// ToleratedSpace: white space that JSON does not allow surrounds the value.
	ToleratedSpace = "white_space"
	// ToleratedQuotes: strings are in single quotes. The parser tries this only if strict parsing
	// failed and the text has single quotes.
	ToleratedQuotes = "single_quotes"
)

// trim removes white space of any script. It keeps a byte order mark.
func trim(text []byte) []byte { return bytes.TrimFunc(text, unicode.IsSpace) }

// requoted rewrites strings in single quotes as JSON strings and keeps strings in double quotes. It
// fails if a quote is not closed, or if a single quote does not start a string, such as an
// apostrophe in unquoted text.
func requoted(text []byte) ([]byte, bool) {
	var b bytes.Buffer
	b.Grow(len(text) + 16)
	for i := 0; i < len(text); {
		switch text[i] {
		case '"':
			end := closing(text, i)
			if end < 0 {
				return nil, false
			}
			b.Write(text[i : end+1])
			i = end + 1
		case '\'':
			end := closing(text, i)
			if end < 0 || i > 0 && !strings.ContainsRune("{[:, \t\r\n", rune(text[i-1])) {
				return nil, false
			}
			if !writeQuoted(&b, text[i+1:end]) {
				return nil, false
			}
			i = end + 1
		default:
			b.WriteByte(text[i])
			i++
		}
	}
	return b.Bytes(), true
}

// closing returns the index of the end of the string that starts at i, or -1.
func closing(text []byte, i int) int {
	quote := text[i]
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case quote:
			return j
		}
	}
	return -1
}

// writeQuoted writes the content of a single-quoted string as a JSON string.
func writeQuoted(b *bytes.Buffer, inside []byte) bool {
	if !utf8.Valid(inside) {
		return false
	}
	b.WriteByte('"')
	for i := 0; i < len(inside); i++ {
		switch {
		case inside[i] == '"':
			b.WriteString(`\"`)
		case inside[i] == '\\' && i+1 < len(inside) && inside[i+1] == '\'':
			b.WriteByte('\'')
			i++
		case inside[i] == '\\' && i+1 < len(inside):
			b.Write(inside[i : i+2])
			i++
		default:
			b.WriteByte(inside[i])
		}
	}
	b.WriteByte('"')
	return true
}
