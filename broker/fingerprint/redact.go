package fingerprint

import (
	"cmp"
	"slices"
)

// Redacted stands where a secret stood.
const Redacted = "[redacted]"

// Redact returns text without the secrets in it: [Redacted] stands in the place
// of each. Where one is hidden in several places of the text at once, or below
// more than one encoding, nothing of the text is left.
func (s *Set) Redact(text string) string {
	if s == nil || len(text) < MinLength || s.Len() == 0 {
		return text
	}
	raw := []byte(text)
	var found []span
	s.spans(raw, false, func(sp span) { found = append(found, sp) })
	var at []int
	s.spans(squeeze(raw, &at), true, func(sp span) { found = append(found, span{at[sp.from], at[sp.to-1] + 1, sp.form}) })
	clean := without(text, found)
	if len(s.Find([]byte(clean))) > 0 {
		return Redacted
	}
	return clean
}

// without cuts the spans out of the text; those that touch or overlap are one.
func without(text string, spans []span) string {
	if len(spans) == 0 {
		return text
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	var out []byte
	done := 0
	for _, sp := range spans {
		if sp.from > done || done == 0 {
			out = append(append(out, text[done:sp.from]...), Redacted...)
		}
		done = max(done, sp.to)
	}
	return string(append(out, text[done:]...))
}
