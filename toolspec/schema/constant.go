package schema

import (
	"slices"
	"strconv"
)

// keyOf is the [tape.key] of a value that a schema names, in enum or const.
func keyOf(value any) string {
	raw, err := encode(value)
	if err != nil {
		return ""
	}
	var t tape
	if !t.read(raw) {
		return ""
	}
	return string(t.key(nil, 0))
}

// key appends a text to b that is the same for values that JSON Schema holds to
// be equal, and for no others: members in the order of their names, numbers by
// their exact value.
func (t *tape) key(b []byte, i int) []byte {
	switch it := t.items[i]; it.kind {
	case '{':
		members := make([]int, 0, it.count)
		for j := i + 1; j < int(it.next); j = int(t.items[j+1].next) {
			members = append(members, j)
		}
		names := make(map[int]string, len(members))
		for _, j := range members {
			names[j] = t.string(j)
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
			b = t.key(b, j+1)
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for j := i + 1; j < int(it.next); j = int(t.items[j].next) {
			b = t.key(b, j)
		}
		return append(b, ']')
	case '"':
		if !it.escaped {
			b = append(b, '"')
			b = strconv.AppendInt(b, int64(it.end-it.start), 10)
			b = append(b, ':')
			return append(b, t.bytes(i)...)
		}
		return appendText(b, t.string(i))
	case '0':
		return appendNumber(b, t.bytes(i))
	default:
		return append(b, it.kind)
	}
}

// appendText writes the length first, so that no two texts run together.
func appendText(b []byte, text string) []byte {
	b = append(b, '"')
	b = strconv.AppendInt(b, int64(len(text)), 10)
	b = append(b, ':')
	return append(b, text...)
}

func appendNumber(b, literal []byte) []byte {
	if PlainInteger(literal) && literal[len(literal)-1] != '0' {
		b = append(b, 'i')
		return append(append(b, literal...), ';')
	}
	d := parseDecimal(string(literal))
	if d.integral() && d.exp <= 15 && d.exp == len(d.digits) { // as above
		b = append(b, 'i')
		if d.negative {
			b = append(b, '-')
		}
		return append(append(b, d.digits...), ';')
	}
	b = append(b, 'd')
	if d.negative {
		b = append(b, '-')
	}
	b = append(b, d.digits...)
	b = append(b, 'e')
	return append(strconv.AppendInt(b, int64(d.exp), 10), ';')
}
