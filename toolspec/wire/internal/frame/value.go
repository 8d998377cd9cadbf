package frame

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Value is one JSON value without white space around it, as it stood in the
// response. Parse makes the first one, the others are parts of it. The empty
// Value is an absent one: it has no kind, no members, no elements.
type Value []byte

// ErrRepeated says that an object has a member twice, so that two readers could
// see two different answers.
var ErrRepeated = errors.New("a member of an object is there twice")

// Parse checks that data is one JSON value. It allows what must not spoil a whole
// response: repeated members, which Pick refuses where they are read, and strings
// whose UTF-8 or UTF-16 is broken, which Text refuses; both are for hydration to
// judge within arguments. Nothing is copied.
func Parse(data []byte) (Value, error) {
	if !jsontext.Value(data).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return nil, errors.New("not one JSON value")
	}
	return Value(trim(data)), nil
}

// Kind is the value's first byte: one of { [ " t f n 0 with 0 for every number,
// or zero for an absent value.
func (v Value) Kind() byte {
	switch {
	case len(v) == 0:
		return 0
	case v[0] == '-' || v[0] >= '0' && v[0] <= '9':
		return '0'
	default:
		return v[0]
	}
}

// Null reports whether there is nothing: no value, or null.
func (v Value) Null() bool { return len(v) == 0 || v[0] == 'n' }

// Pick sets into[i] to the member names[i] of an object, and to nothing where it
// has none. It fails where v is no object, and with [ErrRepeated] where one of
// the members is there twice. Names are written without escapes.
func (v Value) Pick(into []Value, names ...string) error {
	clear(into)
	if v.Kind() != '{' {
		return errors.New("no JSON object")
	}
	// The loop of Members in place: an iterator would cost its allocations here.
	for rest := trimLeft(v[1:]); rest[0] == '"'; {
		var name, member []byte
		name, member, rest = next(rest)
		for i, wanted := range names {
			if string(name) != wanted {
				continue
			}
			if into[i] != nil {
				return fmt.Errorf("%w: %s", ErrRepeated, wanted)
			}
			into[i] = member
		}
	}
	return nil
}

// Members are the members of an object in their order, by their unquoted names;
// none for any other value.
func (v Value) Members() iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		if v.Kind() != '{' {
			return
		}
		for rest := trimLeft(v[1:]); rest[0] == '"'; {
			var name, member []byte
			if name, member, rest = next(rest); !yield(name, member) {
				return
			}
		}
	}
}

// Elements are the elements of an array; none for any other value.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != '[' {
			return
		}
		for rest := trimLeft(v[1:]); rest[0] != ']'; {
			element, tail := split(rest)
			if !yield(element) {
				return
			}
			if rest = trimLeft(tail); rest[0] == ',' {
				rest = trimLeft(rest[1:])
			}
		}
	}
}

// Text is a string without its quotes and escapes; false for any other value, and
// for a string that is no text, such as one with half a surrogate pair.
func (v Value) Text() (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	text, err := Unescape(v.Escaped())
	return string(text), err == nil
}

// Escaped is what stands between the quotes of a string. Pieces of a text that
// came in several strings may be joined so before [Unescape]: an escaped pair of
// surrogates that was cut in two is whole again. Nothing for any other value.
func (v Value) Escaped() []byte {
	if v.Kind() != '"' {
		return nil
	}
	return v[1 : len(v)-1]
}

// Unescape is the text of what stood between the quotes of a JSON string, in
// memory of its own; an error where it is no valid Unicode.
func Unescape(escaped []byte) ([]byte, error) {
	quoted := make([]byte, 0, len(escaped)+2)
	quoted = append(append(append(quoted, '"'), escaped...), '"')
	return jsontext.AppendUnquote(make([]byte, 0, len(escaped)), quoted)
}

// Loose is Unescape for text that people read: what is no valid Unicode becomes
// U+FFFD.
func Loose(escaped []byte) string {
	text, _ := Unescape(escaped)
	return string(text)
}

// Loose is [Loose] of what stands between the quotes of a string; "" for any other
// value.
func (v Value) Loose() string { return Loose(v.Escaped()) }

// Quote appends a text as a JSON string; what is no valid UTF-8 becomes U+FFFD.
func Quote[Text ~string | ~[]byte](dst []byte, text Text) []byte {
	dst, _ = jsontext.AppendQuote(dst, text)
	return dst
}

// Int is a whole number without fraction and exponent.
func (v Value) Int() (int, bool) {
	if v.Kind() != '0' {
		return 0, false
	}
	n, err := strconv.Atoi(string(v))
	return n, err == nil
}

func nameOf(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	name, _ := Unescape(inner)
	return name
}

// next cuts a member and the comma behind it off from the rest of its object.
func next(p []byte) (name, member, rest []byte) {
	quoted, after := split(p)
	member, rest = split(trimLeft(trimLeft(after)[1:])) // behind the colon
	if rest = trimLeft(rest); rest[0] == ',' {
		rest = trimLeft(rest[1:])
	}
	return nameOf(quoted), member, rest
}

// split cuts the value at the start of valid JSON off from what follows it.
func split(p []byte) (v Value, rest []byte) {
	end := extent(p)
	return Value(p[:end:end]), p[end:]
}

func extent(p []byte) int {
	switch p[0] {
	case '"':
		return stringEnd(p, 0)
	case '{', '[':
		depth := 0
		for i := 0; ; i++ {
			switch p[i] {
			case '"':
				i = stringEnd(p, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	default:
		for i, c := range p {
			switch c {
			case ',', '}', ']', ' ', '\t', '\n', '\r':
				return i
			}
		}
		return len(p)
	}
}

// stringEnd is where the string that begins at p[i] has ended. Most strings are
// short, and to look for the quote at once would cost more than the way to it.
func stringEnd(p []byte, i int) int {
	for i++; p[i] != '"'; i++ {
		if p[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func trim(p []byte) []byte { return bytes.Trim(p, " \t\r\n") }

func trimLeft(p []byte) []byte {
	for len(p) > 0 && (p[0] == ' ' || p[0] == '\t' || p[0] == '\n' || p[0] == '\r') {
		p = p[1:]
	}
	return p
}
