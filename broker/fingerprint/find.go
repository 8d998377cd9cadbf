package fingerprint

import (
	"bytes"
	"slices"
	"strings"
)

// Find returns the secrets in a value, each once, by the first form found. It
// decodes the value layer by layer, by the table of decoders, and searches each
// layer: the text, its letters and digits alone, and its strings joined, in both
// orders. Find decodes up to 6 layers and at most 16 bytes for each byte of the
// value, plus 1 MiB. It does not change the value.
func (s *Set) Find(value []byte) []Match {
	return s.find(len(value), func() []*layer { return []*layer{{text: value, whole: true}} })
}

// FindString is Find of a string.
func (s *Set) FindString(value string) []Match { return s.Find([]byte(value)) }

// FindPieces returns the secrets that are cut over several values. It searches the
// joined values, in both orders, where one value ends and the next one begins;
// Find searches each value.
func (s *Set) FindPieces(values [][]byte) []Match {
	if len(values) < 2 {
		return nil
	}
	size := 0
	for _, value := range values {
		size += len(value)
	}
	found := s.find(2*size, func() []*layer {
		tops := []*layer{joinValues(values, size)}
		backwards := slices.Clone(values)
		slices.Reverse(backwards)
		return append(tops, joinValues(backwards, size))
	})
	for i, m := range found {
		found[i].Form = strings.TrimSuffix(m.Form, pieces) + pieces
	}
	return found
}

func joinValues(values [][]byte, size int) *layer {
	l := &layer{text: make([]byte, 0, size)}
	for _, value := range values {
		l.markSeam(len(l.text))
		l.text = append(l.text, value...)
	}
	return l
}

func (s *Set) find(size int, tops func() []*layer) (found []Match) {
	if s == nil || size < MinLength || s.Len() == 0 {
		return nil
	}
	known := map[string]bool{}
	for _, careful := range []bool{false, true} {
		r := newSearch(s, size, careful)
		r.run(func(l *layer, spans []span) bool {
			for _, sp := range spans {
				if !known[sp.form.label] {
					known[sp.form.label] = true
					found = append(found, Match{sp.form.label, l.nameOf(sp.form)})
				}
			}
			return true
		}, tops()...)
		suspected := false
		for label := range r.suspects {
			suspected = suspected || !known[label]
		}
		if !suspected {
			break
		}
	}
	return found
}

// Strings returns the strings of a JSON value, without the names of members, joined in their order, for
// FindPieces. Sequences of numbers that may be bytes count as strings. Of a long string it keeps the
// two ends. It returns a value that does not begin as a JSON object, array or string as it is.
func Strings(value []byte) []byte {
	if start := bytes.TrimSpace(value); len(start) == 0 || !strings.ContainsRune(`{["`, rune(start[0])) {
		return value
	}
	l := &layer{text: value, whole: true, exact: true}
	if l.survey(); len(l.strings) == 0 { // survey skips a value without quotes, such as a list of bytes
		l.strings = findStrings(nil, value)
	}
	out := &layer{}
	joinStrings(l, out)
	return out.text[:out.forward] // without the strings in the other order
}
