package toolspec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maskReach is the length of the longest match that is masked wherever it is in a stream, in bytes.
	maskReach = 4 << 10
	// maxMaskedMatch bounds a match, in bytes: a stream keeps no more text in memory while it waits
	// for the end of a match.
	maxMaskedMatch = 256 << 10
)

// StreamMasker masks a text that comes in parts. It holds no text, so that several streams may use it.
type StreamMasker struct{ finders []finder }

// errLongMatch says that a text to mask does not end.
var errLongMatch = errors.New("a text to mask is longer than 256 KiB")

// Stream returns the masker of MaskStream, or nil if there is nothing to mask.
func (r Redaction) Stream() (*StreamMasker, error) {
	if len(r.MaskStream) > maxMaskings {
		return nil, fmt.Errorf("redaction.maskStream has %d entries, of at most %d", len(r.MaskStream), maxMaskings)
	}
	s, err := CompileStreamMasks(r.MaskStream...)
	if err != nil {
		return nil, fmt.Errorf("redaction.maskStream: %w", err)
	}
	return s, nil
}

// CompileStreamMasks returns the masker of a text stream, or nil if there is nothing to mask. It returns
// an error for an unknown Masker, and for MaskAll.
func CompileStreamMasks(maskers ...Masker) (*StreamMasker, error) {
	if len(maskers) == 0 {
		return nil, nil
	}
	s := &StreamMasker{}
	for _, m := range maskers {
		if m == MaskAll {
			return nil, fmt.Errorf("%q leaves nothing of a stream", m)
		}
		find, err := m.finder()
		if err != nil {
			return nil, err
		}
		if m == MaskCard || m == MaskPhone || m == MaskIBAN {
			find = find.withinLines()
		}
		s.finders = append(s.finders, find)
	}
	return s, nil
}

// With returns a masker that masks what s and more mask. Each may be nil.
func (s *StreamMasker) With(more *StreamMasker) *StreamMasker {
	switch {
	case s == nil:
		return more
	case more == nil:
		return s
	}
	return &StreamMasker{finders: slices.Concat(s.finders, more.finders)}
}

// withinLines finds what begins and ends in one line. In a stream, numbers below each other are a column of a table, and not one number
// that does not end.
func (f finder) withinLines() finder {
	return func(text string) (found [][]int) {
		start := 0
		for line := range strings.Lines(text) {
			for _, span := range f(strings.TrimSuffix(line, "\n")) {
				found = append(found, []int{start + span[0], start + span[1]})
			}
			start += len(line)
		}
		return found
	}
}

// Mask returns the masked beginning of text, and the rest, which belongs in front of what follows: a
// match may go on there. The rest shares memory with text. If last is true, nothing follows and there is no
// rest. It returns an error if one match is longer than 256 KiB.
func (s *StreamMasker) Mask(text []byte, last bool) (masked string, rest []byte, err error) {
	whole := string(text)
	cut := len(text)
	if !last {
		cut = s.cut(whole)
		if cut == 0 && len(text) > maxMaskedMatch+maskReach {
			return "", nil, errLongMatch
		}
	}
	masked = whole[:cut]
	for _, find := range s.finders {
		masked = find.mask(masked)
	}
	return masked, text[cut:], nil
}

// cut returns the index at which a text is cut: outside of all matches, and at the end of a line if
// possible.
func (s *StreamMasker) cut(text string) int {
	cut := max(0, len(text)-maskReach)
	if line := strings.LastIndexByte(text[:cut], '\n'); line >= 0 {
		cut = line + 1
	} else {
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
	}
	spans := make([][][]int, len(s.finders))
	for i, find := range s.finders {
		spans[i] = find(text)
	}
	for moved := true; moved; {
		moved = false
		for _, found := range spans {
			for _, span := range found {
				if span[0] < cut && cut < span[1] {
					cut, moved = span[0], true
				}
			}
		}
	}
	return cut
}
