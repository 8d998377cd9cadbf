package fingerprint

import (
	"cmp"
	"slices"
)

// Redacted replaces each secret that was removed.
const Redacted = "[redacted]"

// maxCuts bounds the rounds of a redaction. A round cuts the secrets of one layer
// out of the text.
const maxCuts = 16

// Redact returns text with [Redacted] in the place of each secret that Find
// finds, or of the part that encodes it. If secrets are left after 16 rounds,
// Redact returns [Redacted] alone.
func (s *Set) Redact(text string) string {
	if s == nil || len(text) < MinLength || s.Len() == 0 {
		return text
	}
	left := []byte(text)
	for cut := range maxCuts {
		parts := s.findParts(left)
		switch {
		case len(parts) > 0:
		case cut == 0:
			return text
		default:
			return string(left)
		}
		left = cutParts(left, parts)
	}
	return Redacted
}

// findParts returns the parts of a text that encode the secrets of the first layer
// that holds secrets; nil if no layer does.
func (s *Set) findParts(text []byte) (parts []part) {
	for _, careful := range []bool{false, true} {
		r := newSearch(s, len(text), careful)
		r.run(func(l *layer, spans []span) bool {
			tracked := replayPath(text, l.path, l.exact)
			for i, sp := range spans {
				if sp.form.name == inBase64Name {
					spans[i] = tracked.widenBase64(sp)
				}
			}
			// A secret that repeats itself is found in places that overlap.
			slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
			done := 0
			for _, sp := range spans {
				if from := max(sp.from, done); from < sp.to {
					parts, done = append(parts, tracked.originsOf(from, sp.to)...), sp.to
				}
			}
			return false
		}, &layer{text: text, whole: true})
		if len(parts) > 0 || len(r.suspects) == 0 {
			return parts
		}
	}
	return nil
}

// widenBase64 adds the characters at both ends of a form in base64 that share bits
// with their neighbours, and the padding.
func (l *layer) widenBase64(sp span) span {
	if sp.from > 0 && classes[l.text[sp.from-1]]&inRun != 0 {
		sp.from--
	}
	if sp.to < len(l.text) && classes[l.text[sp.to]]&inRun != 0 {
		sp.to++
	}
	for sp.to < len(l.text) && l.text[sp.to] == '=' {
		sp.to++
	}
	return sp
}

// cutParts replaces parts of the text; parts that touch or overlap become one.
func cutParts(text []byte, parts []part) (left []byte) {
	slices.SortFunc(parts, func(a, b part) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	done := -1
	for _, p := range parts {
		if p.from > done {
			left = append(append(left, text[max(done, 0):p.from]...), Redacted...)
		}
		done = max(done, p.to)
	}
	return append(left, text[done:]...)
}
