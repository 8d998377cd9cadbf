package hydrate

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The tolerances: what the parser overlooks, each by its name. Nothing else is,
// and none of them changes what a text says: for that there is [Repairer].
const (
	// ToleratedString: the arguments are a JSON string that holds the JSON of an
	// object, one level deep.
	ToleratedString = "string_wrapped"
	// ToleratedSpace: white space that JSON does not know stands around the value.
	ToleratedSpace = "white_space"
	// ToleratedQuotes: strings stand in single quotes. Tried only where there are
	// some and the strict reading failed.
	ToleratedQuotes = "single_quotes"
)

// trim takes off white space of any script. A byte order mark is none.
func trim(text []byte) []byte { return bytes.TrimFunc(text, unicode.IsSpace) }

// requoted writes strings in single quotes as JSON strings; what stands in double
// quotes stays as it is. It fails where a quote is not closed, and where it finds
// a single quote that no string begins with, as in an apostrophe of a bare text.
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

// closing finds the end of the string that begins at i, or -1.
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

// writeQuoted writes the inside of a string in single quotes as a JSON string.
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
