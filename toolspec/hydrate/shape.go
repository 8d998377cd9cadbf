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

// Bounds of what a record shows of arguments that nobody could redact by path.
const (
	// maxOriginal is in bytes.
	maxOriginal   = 512
	maxShapeDepth = 8
	maxShapeName  = 64
)

// shapeOf writes the names and the types of a decoded JSON value, and none of its
// values: {"path":string,"lines":[number,…]}. Arguments that their schema refuses
// are shown so, because the paths that a tool masks need not fit them.
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

// typeOf is the JSON type of a decoded value.
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

// skeleton writes a text that is no JSON without what it says: a run of letters
// is one a, a run of digits one 0, white space one blank, what is neither of these
// nor punctuation of JSON one dot. It cannot be redacted by path, for it has none,
// and a recogniser of credentials knows published shapes only, not passwords.
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
