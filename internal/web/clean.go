package web

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec/output/read"
)

// oneLine returns a text as one line of at most limit bytes, without control characters and characters that
// are not seen.
func oneLine(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > limit {
		text = text[:read.RuneStart(text, limit-len("…"))] + "…"
	}
	return text
}
