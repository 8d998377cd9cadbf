package jsonschema

import (
	"slices"
	"strconv"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// keyOf is the key, as [appendKey] writes it, of a value that a schema names, in enum or const.
func keyOf(value any) string {
	raw, err := strictjson.Encode(value)
	if err != nil {
		return ""
	}
	t, fault := strictjson.Read(raw)
	defer t.Release()
	if fault != nil {
		return ""
	}
	return string(appendKey(nil, t, 0))
}

// appendKey appends a text for the value at i to b. Values have equal texts if and only if JSON
// Schema defines them as equal: members are in the order of their names, and numbers are written by
// their exact value.
func appendKey(b []byte, t *strictjson.Tape, i int) []byte {
	switch it := t.Items[i]; it.Kind {
	case '{':
		members := make([]int, 0, it.Count)
		for j := i + 1; j < int(it.Next); j = int(t.Items[j+1].Next) {
			members = append(members, j)
		}
		names := make(map[int]string, len(members))
		for _, j := range members {
			names[j] = t.Text(j)
		}
		slices.SortFunc(members, func(a, b int) int {
			switch {
			case names[a] < names[b]:
				return -1
			case names[a] > names[b]:
				return 1
			}
			return 0
		})
		b = append(b, '{')
		for _, j := range members {
			b = appendText(b, names[j])
			b = appendKey(b, t, j+1)
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for j := i + 1; j < int(it.Next); j = int(t.Items[j].Next) {
			b = appendKey(b, t, j)
		}
		return append(b, ']')
	case '"':
		if !it.Escaped {
			b = append(b, '"')
			b = strconv.AppendInt(b, int64(it.End-it.Start), 10)
			b = append(b, ':')
			return append(b, t.Bytes(i)...)
		}
		return appendText(b, t.Text(i))
	case '0':
		return appendNumber(b, t.Bytes(i))
	default:
		return append(b, it.Kind)
	}
}

// appendText writes the length before the text, so that the texts of two strings cannot be
// confused.
func appendText(b []byte, text string) []byte {
	b = append(b, '"')
	b = strconv.AppendInt(b, int64(len(text)), 10)
	b = append(b, ':')
	return append(b, text...)
}

func appendNumber(b, literal []byte) []byte {
	if strictjson.PlainInteger(literal) && literal[len(literal)-1] != '0' {
		b = append(b, 'i')
		return append(append(b, literal...), ';')
	}
	d := strictjson.ParseDecimal(string(literal))
	if d.IsInteger() && d.Exp <= 15 && d.Exp == len(d.Digits) { // as above
		b = append(b, 'i')
		if d.Negative {
			b = append(b, '-')
		}
		return append(append(b, d.Digits...), ';')
	}
	b = append(b, 'd')
	if d.Negative {
		b = append(b, '-')
	}
	b = append(b, d.Digits...)
	b = append(b, 'e')
	return append(strconv.AppendInt(b, int64(d.Exp), 10), ';')
}
