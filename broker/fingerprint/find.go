package fingerprint

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxDepth is how many layers of encoding are taken off a value.
	maxDepth = 4
	// pieces marks a form whose parts were apart.
	pieces = " in pieces"
)

// Find searches a value: the text as it is; the text without all that is no
// letter and no digit; where it is JSON, its strings put together in their order,
// and what they hold where they are JSON, base64 or hexadecimal themselves. Each
// secret is named once, by the first form found. The value is not changed.
func (s *Set) Find(value []byte) []Match {
	if s.Len() == 0 {
		return nil
	}
	var m matches
	s.find(value, 0, false, &m)
	return m
}

// FindString is Find of a string.
func (s *Set) FindString(value string) []Match { return s.Find([]byte(value)) }

type matches []Match

func (m *matches) add(f *form, suffix string) {
	if !slices.ContainsFunc(*m, func(known Match) bool { return known.Label == f.label }) {
		*m = append(*m, Match{f.label, f.name + suffix})
	}
}

// find searches a value and what it holds. verbatim says that its text has been
// searched as a part of a larger one.
func (s *Set) find(value []byte, depth int, verbatim bool, m *matches) {
	if !verbatim {
		s.flat(value, m, "")
	}
	if depth == maxDepth {
		return
	}
	if inner := unarmoured(value); inner != nil {
		s.find(inner, depth+1, false, m)
	}
	leaves, joined, ok := jsonLeaves(value)
	if !ok {
		return
	}
	s.flat(joined, m, pieces)
	verbatim = bytes.IndexByte(value, '\\') < 0
	for _, leaf := range leaves {
		s.find(leaf, depth+1, verbatim, m)
	}
}

// flat searches text as it is and squeezed.
func (s *Set) flat(text []byte, m *matches, suffix string) {
	s.spans(text, false, func(sp span) { m.add(sp.form, suffix) })
	s.spans(squeeze(text, nil), true, func(sp span) { m.add(sp.form, pieces) })
}

// unarmoured is what a text of base64 or hexadecimal holds; nil where it is
// none.
func unarmoured(value []byte) []byte {
	text := strings.TrimRight(string(bytes.TrimPrefix(bytes.TrimSpace(value), []byte(`\x`))), "=")
	if len(text) < MinLength {
		return nil
	}
	if inner, err := hex.DecodeString(text); err == nil {
		return inner
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if inner, err := encoding.DecodeString(text); err == nil {
			return inner
		}
	}
	return nil
}

// jsonLeaves are the strings of a JSON value, names of members included, that
// differ from how they are written or could hold a value of their own; joined are
// all strings in their order, and numbers that could be bytes.
func jsonLeaves(value []byte) (leaves [][]byte, joined []byte, ok bool) {
	value = bytes.TrimSpace(value)
	if len(value) < 2 || !strings.ContainsRune(`{["`, rune(value[0])) {
		return nil, nil, false
	}
	decoder := jsontext.NewDecoder(bytes.NewBuffer(value), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		kind := decoder.PeekKind()
		if strings.ContainsRune("{}[]", rune(kind)) {
			if _, err := decoder.ReadToken(); err != nil {
				break
			}
			continue
		}
		level, members := decoder.StackIndex(decoder.StackDepth())
		isName := level == jsontext.KindBeginObject && members%2 == 0
		scalar, err := decoder.ReadValue()
		if err != nil {
			break
		}
		if kind == jsontext.KindString {
			text, _ := jsontext.AppendUnquote(nil, scalar) // its error tells of invalid UTF-8, which it has replaced
			if len(text) >= MinLength {
				leaves = append(leaves, text)
			}
			if !isName {
				joined = append(joined, text...)
			}
		} else if n, err := strconv.ParseUint(string(scalar), 10, 8); err == nil {
			joined = append(joined, byte(n))
		}
	}
	return leaves, joined, len(leaves) > 0 || len(joined) > 0
}

// Strings are what a JSON value says, put together in its order: what stands cut
// into its parts is whole there. What is no JSON is returned as it is.
func Strings(value []byte) []byte {
	if _, joined, ok := jsonLeaves(value); ok {
		return joined
	}
	return value
}
