package hydrate

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pawl-run/pawl/toolspec"
)

// Bounds of the text that a record shows of arguments without redaction paths.
const (
	// maxOriginal is in bytes.
	maxOriginal   = 512
	maxShapeDepth = 8
	maxShapeName  = 64
)

// shapeOf returns the names and types of a decoded JSON value without its values:
// {"path":string,"lines":[number,…]}. Records show refused arguments in this form, because the
// redaction paths of a tool may not match them.
func shapeOf(v any) string {
	var b strings.Builder
	writeShape(&b, v, 0)
	return cutOriginal(b.String())
}

func writeShape(b *strings.Builder, v any, depth int) {
	if b.Len() > maxOriginal || depth > maxShapeDepth {
		b.WriteString("…")
		return
	}
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if b.Len() > maxOriginal {
				b.WriteString("…")
				break
			}
			if i > 0 {
				b.WriteByte(',')
			}
			if len(name) > maxShapeName || toolspec.SecretValue(name) {
				name = toolspec.Mask
			}
			b.WriteString(strconv.Quote(name))
			b.WriteByte(':')
			writeShape(b, v[name], depth+1)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		if len(v) > 0 {
			writeShape(b, v[0], depth+1)
		}
		if len(v) > 1 {
			b.WriteString(",…")
		}
		b.WriteByte(']')
	default:
		b.WriteString(typeOf(v))
	}
}

// typeOf returns the JSON type of a decoded value.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number, float64:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return ""
}

// skeleton returns the structure of a text that is not JSON: a run of letters becomes one a, a run
// of digits one 0, white space one blank, and any other character that is not punctuation of JSON
// one dot. Such a text has no paths to redact, and the detection of credentials knows published
// formats only, not passwords.
func skeleton(text []byte) string {
	var b strings.Builder
	last := rune(-1)
	for _, r := range string(text) {
		switch {
		case unicode.IsLetter(r) || r == unicode.ReplacementChar:
			r = 'a'
		case unicode.IsDigit(r):
			r = '0'
		case unicode.IsSpace(r):
			r = ' '
		case strings.ContainsRune("{}[]:,\"'`\\", r):
			last = -1
		default:
			r = '.'
		}
		if r == last {
			continue
		}
		last = r
		b.WriteRune(r)
		if b.Len() > maxOriginal {
			break
		}
	}
	return cutOriginal(b.String())
}

func cutOriginal(s string) string {
	if len(s) <= maxOriginal {
		return s
	}
	return strings.ToValidUTF8(s[:maxOriginal], "") + "…"
}
