package frame

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Value is one JSON value, byte for byte as the response has it, without white space around it.
// Parse returns the value of a document; all other Values are parts of that value. An empty Value
// means that a value is absent: it has no kind, no members and no elements.
type Value []byte

// ErrRepeated says that an object has a member twice, so that two readers could
// see two different answers.
var ErrRepeated = errors.New("a member of an object is there twice")

// Parse checks that data is one JSON value and returns it without a copy. It accepts two faults that
// need not make the whole response useless: a repeated member, for which Pick returns an error if
// that member is read, and a string with invalid UTF-8 or UTF-16, which Text does not accept. If
// such a fault is inside the arguments of a call, hydration decides about it.
func Parse(data []byte) (Value, error) {
	if !jsontext.Value(data).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return nil, errors.New("not one JSON value")
	}
	return Value(trim(data)), nil
}

// Kind returns the first byte of the value: one of { [ " t f n, the digit '0' for every number, or
// the byte 0 for an absent value.
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

// Null reports whether the value is absent or null.
func (v Value) Null() bool { return len(v) == 0 || v[0] == 'n' }

// Pick sets into[i] to the member names[i] of an object, or to an empty Value if the object has no
// such member. It returns an error if v is not an object, and an error that wraps [ErrRepeated] if
// the object has one of the members twice. names have no JSON escapes.
func (v Value) Pick(into []Value, names ...string) error {
	clear(into)
	if v.Kind() != '{' {
		return errors.New("no JSON object")
	}
	// This repeats the loop of Members, because an iterator would allocate memory.
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

// Members returns an iterator over the unquoted names and the values of an object's members, in
// their order. A value that is not an object has no members.
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

// Elements returns an iterator over the elements of an array. A value that is not an array has no
// elements.
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

// Text returns a string without its quotes and escapes. It returns false for a value that is not a
// string, and for a string that is not valid Unicode, such as a string with half a surrogate pair.
func (v Value) Text() (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	text, err := Unescape(v.Escaped())
	return string(text), err == nil
}

// Escaped returns the bytes between the quotes of a string, with their escapes. It returns nil for
// any other value. If a text comes in several strings, join the escaped pieces before [Unescape], so
// that a surrogate pair with one half in each string is complete.
func (v Value) Escaped() []byte {
	if v.Kind() != '"' {
		return nil
	}
	return v[1 : len(v)-1]
}

// Unescape decodes the bytes between the quotes of a JSON string into new memory. It returns an error
// if the text is not valid Unicode.
func Unescape(escaped []byte) ([]byte, error) {
	quoted := make([]byte, 0, len(escaped)+2)
	quoted = append(append(append(quoted, '"'), escaped...), '"')
	return jsontext.AppendUnquote(make([]byte, 0, len(escaped)), quoted)
}

// Loose is Unescape for text that people read. It replaces invalid Unicode by U+FFFD and returns no
// error.
func Loose(escaped []byte) string {
	text, _ := Unescape(escaped)
	return string(text)
}

// Loose returns the text of a string, with the rule of the function [Loose]. It returns "" for any
// other value.
func (v Value) Loose() string { return Loose(v.Escaped()) }

// Quote appends a text to dst as a JSON string. It replaces invalid UTF-8 by U+FFFD.
func Quote[Text ~string | ~[]byte](dst []byte, text Text) []byte {
	dst, _ = jsontext.AppendQuote(dst, text)
	return dst
}

// Int returns a number that has no fraction and no exponent. It returns false for any other value.
func (v Value) Int() (int, bool) {
	if v.Kind() != '0' {
		return 0, false
	}
	n, err := strconv.Atoi(string(v))
	return n, err == nil
}

// maxCount bounds a count, so that a sum of counts does not overflow.
const maxCount = 1 << 40

// Count returns the number at a path of member names, such as the tokens of a part of a usage. What is
// absent, negative or no whole number counts as 0.
func (v Value) Count(path ...string) int64 {
	for _, name := range path {
		var got [1]Value
		if v.Kind() != '{' || v.Pick(got[:], name) != nil {
			return 0
		}
		v = got[0]
	}
	n, _ := v.Int()
	return int64(min(max(n, 0), maxCount))
}

// TextOf returns the text of a member of an object, with the rule of the function [Loose]. What is absent, repeated or no
// string is "".
func (v Value) TextOf(name string) string {
	var got [1]Value
	if v.Kind() != '{' || v.Pick(got[:], name) != nil {
		return ""
	}
	return got[0].Loose()
}

func nameOf(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	name, _ := Unescape(inner)
	return name
}

// next splits the first member, and the comma after it, from the rest of an object.
func next(p []byte) (name, member, rest []byte) {
	quoted, after := split(p)
	member, rest = split(trimLeft(trimLeft(after)[1:])) // after the colon
	if rest = trimLeft(rest); rest[0] == ',' {
		rest = trimLeft(rest[1:])
	}
	return nameOf(quoted), member, rest
}

// split returns the value at the start of p and the bytes after it. p must be valid JSON.
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

// stringEnd returns the index after the string that begins at p[i]. It looks at one byte after the
// other: most strings are short, and for them a call of bytes.IndexByte would cost more.
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
