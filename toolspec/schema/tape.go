package schema

import (
	"bytes"
	"encoding/json"
	"sync"
	"unicode/utf8"
)

// tape is one JSON value read in a single pass: every value and every member
// name in the order of the text. It borrows the text, and is used again and
// again from a pool, so that reading allocates nothing in the long run.
type tape struct {
	raw   []byte
	items []item
	names map[string]struct{} // of objects with many members

	scratch []byte // for whoever reads the tape
	order   []int
}

// item is a value or a name on a tape.
type item struct {
	kind       byte // one of { [ " 0 t f n, and k for a name
	escaped    bool // a string that has escapes
	count      int32
	start, end int32 // in the text; of strings and names without the quotes
	next       int32 // index behind the whole value
}

var tapes = sync.Pool{New: func() any { return new(tape) }}

// borrow takes a tape from the pool; done gives it back.
func borrow() *tape {
	if t, ok := tapes.Get().(*tape); ok {
		return t
	}
	return new(tape)
}

// maxTape bounds the text of a tape, for its offsets are 32 bits wide.
const maxTape = 1 << 30

// read puts raw on the tape. It reports whether raw is one strict JSON value, as
// [CheckJSON] says; where it is not, CheckJSON knows why.
func (t *tape) read(raw []byte) bool {
	t.raw, t.items, t.order = raw, t.items[:0], t.order[:0]
	if len(raw) > maxTape {
		return false
	}
	at, ok := t.value(t.space(0), 0)
	return ok && t.space(at) == len(raw)
}

// done gives the tape back.
func (t *tape) done() {
	if cap(t.items) > 1<<16 {
		return // a rare giant is left to the collector
	}
	t.raw = nil
	tapes.Put(t)
}

func (t *tape) space(at int) int {
	for at < len(t.raw) {
		switch t.raw[at] {
		case ' ', '\t', '\n', '\r':
			at++
		default:
			return at
		}
	}
	return at
}

func (t *tape) value(at, depth int) (int, bool) {
	if at >= len(t.raw) {
		return at, false
	}
	switch c := t.raw[at]; c {
	case '{', '[':
		if depth == MaxDepth {
			return at, false
		}
		if c == '{' {
			return t.object(at+1, depth+1)
		}
		return t.array(at+1, depth+1)
	case '"':
		return t.text(at+1, '"')
	case 't':
		return t.word(at, "true")
	case 'f':
		return t.word(at, "false")
	case 'n':
		return t.word(at, "null")
	default:
		return t.number(at)
	}
}

func (t *tape) put(kind byte, start, end int) int {
	t.items = append(t.items, item{kind: kind, start: int32(start), end: int32(end), next: int32(len(t.items) + 1)})
	return len(t.items) - 1
}

func (t *tape) word(at int, word string) (int, bool) {
	end := at + len(word)
	if end > len(t.raw) || string(t.raw[at:end]) != word {
		return at, false
	}
	t.put(word[0], at, end)
	return end, true
}

func (t *tape) array(at, depth int) (int, bool) {
	self := t.put('[', at-1, 0)
	count := int32(0)
	if at = t.space(at); at < len(t.raw) && t.raw[at] == ']' {
		return t.close(self, at, 0), true
	}
	for {
		var ok bool
		if at, ok = t.value(t.space(at), depth); !ok {
			return at, false
		}
		count++
		if at = t.space(at); at >= len(t.raw) {
			return at, false
		}
		switch t.raw[at] {
		case ',':
			at++
		case ']':
			return t.close(self, at, count), true
		default:
			return at, false
		}
	}
}

func (t *tape) close(self, at int, count int32) int {
	t.items[self].end, t.items[self].count, t.items[self].next = int32(at+1), count, int32(len(t.items))
	return at + 1
}

func (t *tape) object(at, depth int) (int, bool) {
	self := t.put('{', at-1, 0)
	count := int32(0)
	if at = t.space(at); at < len(t.raw) && t.raw[at] == '}' {
		return t.close(self, at, 0), true
	}
	for {
		if at = t.space(at); at >= len(t.raw) || t.raw[at] != '"' {
			return at, false
		}
		var ok bool
		if at, ok = t.text(at+1, 'k'); !ok {
			return at, false
		}
		if at = t.space(at); at >= len(t.raw) || t.raw[at] != ':' {
			return at, false
		}
		if at, ok = t.value(t.space(at+1), depth); !ok {
			return at, false
		}
		count++
		if at = t.space(at); at >= len(t.raw) {
			return at, false
		}
		switch t.raw[at] {
		case ',':
			at++
		case '}':
			end := t.close(self, at, count)
			return end, t.distinct(self)
		default:
			return at, false
		}
	}
}

// distinct reports whether no member of the object has the name of another.
func (t *tape) distinct(self int) bool {
	if t.items[self].count > 24 {
		return t.distinctMany(self)
	}
	for i := self + 1; i < int(t.items[self].next); i = int(t.items[i+1].next) {
		a := t.items[i]
		for j := self + 1; j < i; j = int(t.items[j+1].next) {
			b := t.items[j]
			switch {
			case a.escaped || b.escaped:
				if t.string(i) == t.string(j) {
					return false
				}
			case a.end-a.start == b.end-b.start && bytes.Equal(t.raw[a.start:a.end], t.raw[b.start:b.end]):
				return false
			}
		}
	}
	return true
}

func (t *tape) distinctMany(self int) bool {
	if t.names == nil || len(t.names) > 1024 {
		t.names = map[string]struct{}{}
	}
	clear(t.names)
	for i := self + 1; i < int(t.items[self].next); i = int(t.items[i+1].next) {
		name := t.string(i)
		if _, twice := t.names[name]; twice {
			return false
		}
		t.names[name] = struct{}{}
	}
	return true
}

// text reads a string behind its opening quote.
func (t *tape) text(at int, kind byte) (int, bool) {
	start, escaped := at, false
	for {
		for at < len(t.raw) && plainByte[t.raw[at]] {
			at++
		}
		if at >= len(t.raw) {
			return at, false
		}
		c := t.raw[at]
		switch {
		case c == '"':
			t.items[t.put(kind, start, at)].escaped = escaped
			return at + 1, true
		case c < ' ':
			return at, false
		case c == '\\':
			n := escape(t.raw[at:])
			if n == 0 {
				return at, false
			}
			escaped = true
			at += n
		default:
			r, n := utf8.DecodeRune(t.raw[at:])
			if r == utf8.RuneError && n == 1 {
				return at, false
			}
			at += n
		}
	}
}

// plainByte are the bytes of a string that stand for themselves alone.
var plainByte = func() (plain [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		plain[c] = c != '"' && c != '\\'
	}
	return plain
}()

// escape is the length of the escape that raw begins with; 0 where it is none
// or half of a surrogate pair.
func escape(raw []byte) int {
	if len(raw) < 2 {
		return 0
	}
	switch raw[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		switch r := hex4(raw[2:]); {
		case r < 0, 0xdc00 <= r && r < 0xe000:
			return 0
		case 0xd800 <= r && r < 0xdc00:
			if len(raw) < 8 || raw[6] != '\\' || raw[7] != 'u' {
				return 0
			}
			if low := hex4(raw[8:]); low < 0xdc00 || low >= 0xe000 {
				return 0
			}
			return 12
		default:
			return 6
		}
	}
	return 0
}

func hex4(raw []byte) int {
	if len(raw) < 4 {
		return -1
	}
	r := 0
	for _, c := range raw[:4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | int(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | int(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | int(c-'A'+10)
		default:
			return -1
		}
	}
	return r
}

// number reads a number that some float64 holds.
func (t *tape) number(at int) (int, bool) {
	start := at
	digits := func() bool {
		from := at
		for at < len(t.raw) && '0' <= t.raw[at] && t.raw[at] <= '9' {
			at++
		}
		return at > from
	}
	if t.raw[at] == '-' {
		at++
	}
	if at < len(t.raw) && t.raw[at] == '0' {
		at++
	} else if !digits() {
		return at, false
	}
	plain := true
	if at < len(t.raw) && t.raw[at] == '.' {
		at++
		if !digits() {
			return at, false
		}
	}
	if at < len(t.raw) && (t.raw[at] == 'e' || t.raw[at] == 'E') {
		plain = false
		if at++; at < len(t.raw) && (t.raw[at] == '+' || t.raw[at] == '-') {
			at++
		}
		if !digits() {
			return at, false
		}
	}
	t.put('0', start, at)
	return at, plain && at-start <= 300 || finiteNumber(string(t.raw[start:at]))
}

// bytes are the text of a value; of strings and names the inside of the quotes.
func (t *tape) bytes(i int) []byte { return t.raw[t.items[i].start:t.items[i].end] }

// string is the text of a string or name, with its escapes undone.
func (t *tape) string(i int) string {
	if !t.items[i].escaped {
		return string(t.bytes(i))
	}
	var s string
	_ = json.Unmarshal(t.raw[t.items[i].start-1:t.items[i].end+1], &s)
	return s
}

// member finds the value of a name in the object at i, or 0.
func (t *tape) member(i int, name string) int {
	for j := i + 1; j < int(t.items[i].next); j = int(t.items[j+1].next) {
		if t.named(j, name) {
			return j + 1
		}
	}
	return 0
}

func (t *tape) named(i int, name string) bool {
	if t.items[i].escaped {
		return t.string(i) == name
	}
	return string(t.bytes(i)) == name
}
