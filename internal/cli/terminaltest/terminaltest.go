package terminaltest

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Odd is a text with characters that a program must escape before it writes them to a terminal.
const Odd = "\x1b[31m\x1b]0;t\a \u009b31m \u202etxt \u200b\u2066 \u3164 \U000e0041 \r \x7f \ufe0f"

// Unclean describes the first character of a text that controls a terminal or that a terminal
// hides. It returns "" if the text has none.
func Unclean(text string) string {
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return fmt.Sprintf("a byte at %d that is no UTF-8", i)
		case r == '\n' || r == '\t':
		case unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			return fmt.Sprintf("%U at %d", r, i)
		}
	}
	return ""
}
