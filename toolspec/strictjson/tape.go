package strictjson

import (
	"bytes"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Tape is one JSON value read in a single pass: every value and every member
// name in the order of the text. It borrows the text, and is used again and
// again from a pool, so that reading allocates nothing in the long run.
type Tape struct {
	// Items are in the order of the text. The first one is the whole value.
	Items []Item
	// Scratch is free for the user of the tape; the parser does not use it. A released tape keeps its
	// capacity for the next user.
	Scratch []byte

	raw    []byte
	names  map[string]struct{} // of objects with many members
	order  []int
	reason Reason // why the reading stopped
}

// Item is a value or a name on a tape.
type Item struct {
	Kind       byte // one of { [ " 0 t f n, and k for a name
	Escaped    bool // a string that has escapes
	Count      int32
	Start, End int32 // in the text; of strings and names without the quotes
	Next       int32 // index behind the whole value
}

var tapes = sync.Pool{New: func() any { return new(Tape) }}

// borrow takes a tape from the pool.
func borrow() *Tape {
	if t, ok := tapes.Get().(*Tape); ok {
		return t
	}
	return new(Tape)
}

// Read reads raw in one pass, and returns why raw is not one strict JSON value, as
// [Check] says, or nil. The tape then holds the items before the fault, of which
// only Items, Bytes, Text and Path may be used. It borrows raw until Release.
func Read(raw []byte) (*Tape, *Fault) {
	t := borrow()
	fault := t.read(raw)
	return t, fault
}

// maxTape bounds the text of a tape, for its offsets are 32 bits wide.
const maxTape = 1 << 30

// read puts raw on the tape. It returns why raw is not one strict JSON value, as
// [Check] says, or nil.
func (t *Tape) read(raw []byte) *Fault {
	t.raw, t.Items, t.order, t.reason = raw, t.Items[:0], t.order[:0], BadSyntax
	if len(raw) > maxTape {
		return &Fault{Reason: BadSyntax}
	}
	at, ok := t.readValue(t.space(0), 0)
	if ok {
		if at = t.space(at); at == len(raw) {
			return nil
		}
		t.reason = TrailingText
	}
	return t.fault(at)
}

// Release gives the tape back. Nothing of it may be used afterwards.
func (t *Tape) Release() {
	if cap(t.Items) > 1<<16 || cap(t.Scratch) > 1<<16 {
		return // a large tape is not kept
	}
	t.raw = nil
	clear(t.names) // the pool must not keep names from arguments
	clear(t.Scratch[:cap(t.Scratch)])
	tapes.Put(t)
}

func (t *Tape) space(at int) int {
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

func (t *Tape) readValue(at, depth int) (int, bool) {
	if at >= len(t.raw) {
		return at, false
	}
	switch c := t.raw[at]; c {
	case '{', '[':
		if depth == MaxDepth {
			t.reason = TooDeep
			return at, false
		}
		if c == '{' {
			return t.readObject(at+1, depth+1)
		}
		return t.readArray(at+1, depth+1)
	case '"':
		return t.readString(at+1, '"')
	case 't':
		return t.readWord(at, "true")
	case 'f':
		return t.readWord(at, "false")
	case 'n':
		return t.readWord(at, "null")
	default:
		return t.readNumber(at)
	}
}

func (t *Tape) put(kind byte, start, end int) int {
	t.Items = append(t.Items, Item{Kind: kind, Start: int32(start), End: int32(end), Next: int32(len(t.Items) + 1)})
	return len(t.Items) - 1
}

func (t *Tape) readWord(at int, word string) (int, bool) {
	start := at
	for i := range len(word) {
		if at == len(t.raw) || t.raw[at] != word[i] {
			return at, false
		}
		at++
	}
	t.put(word[0], start, at)
	return at, true
}

func (t *Tape) readArray(at, depth int) (int, bool) {
	self := t.put('[', at-1, 0)
	count := int32(0)
	if at = t.space(at); at < len(t.raw) && t.raw[at] == ']' {
		return t.close(self, at, 0), true
	}
	for {
		var ok bool
		if at, ok = t.readValue(t.space(at), depth); !ok {
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

func (t *Tape) close(self, at int, count int32) int {
	t.Items[self].End, t.Items[self].Count, t.Items[self].Next = int32(at+1), count, int32(len(t.Items))
	return at + 1
}

func (t *Tape) readObject(at, depth int) (int, bool) {
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
		if at, ok = t.readString(at+1, 'k'); !ok {
			return at, false
		}
		if at = t.space(at); at >= len(t.raw) || t.raw[at] != ':' {
			return at, false
		}
		if at, ok = t.readValue(t.space(at+1), depth); !ok {
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
func (t *Tape) distinct(self int) bool {
	if t.Items[self].Count > 24 {
		return t.distinctMany(self)
	}
	for i := self + 1; i < int(t.Items[self].Next); i = int(t.Items[i+1].Next) {
		a := t.Items[i]
		for j := self + 1; j < i; j = int(t.Items[j+1].Next) {
			b := t.Items[j]
			switch {
			case a.Escaped || b.Escaped:
				if t.Text(i) == t.Text(j) {
					return false
				}
			case a.End-a.Start == b.End-b.Start && bytes.Equal(t.raw[a.Start:a.End], t.raw[b.Start:b.End]):
				return false
			}
		}
	}
	return true
}

// distinctMany is distinct for an object with many members. It takes linear time, and memory for a map.
// It does not reuse a map of more than 1024 names, because clear takes time in proportion to the size
// that a map once had.
func (t *Tape) distinctMany(self int) bool {
	if t.names == nil || len(t.names) > 1024 {
		t.names = map[string]struct{}{}
	}
	clear(t.names)
	for i := self + 1; i < int(t.Items[self].Next); i = int(t.Items[i+1].Next) {
		name := t.Text(i)
		if _, twice := t.names[name]; twice {
			return false
		}
		t.names[name] = struct{}{}
	}
	return true
}

// Bytes are the text of a value; of strings and names the inside of the quotes.
func (t *Tape) Bytes(i int) []byte { return t.raw[t.Items[i].Start:t.Items[i].End] }

// Text is the text of a string or name, with its escapes undone.
func (t *Tape) Text(i int) string {
	if !t.Items[i].Escaped {
		return string(t.Bytes(i))
	}
	plain, _ := jsontext.AppendUnquote(nil, t.raw[t.Items[i].Start-1:t.Items[i].End+1]) // its escapes were read
	return string(plain)
}

// Member finds the value of a name in the object at i, or 0.
func (t *Tape) Member(i int, name string) int {
	for j := i + 1; j < int(t.Items[i].Next); j = int(t.Items[j+1].Next) {
		if t.named(j, name) {
			return j + 1
		}
	}
	return 0
}

func (t *Tape) named(i int, name string) bool {
	if t.Items[i].Escaped {
		return t.Text(i) == name
	}
	return string(t.Bytes(i)) == name
}
