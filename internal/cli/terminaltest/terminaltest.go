package terminaltest

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Odd is what must never reach a terminal as it is.
const Odd = "\x1b[31m\x1b]0;t\a \u009b31m \u202etxt \u200b\u2066 \u3164 \U000e0041 \r \x7f \ufe0f"

// Unclean names the first thing in a text that a terminal would obey or hide.
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
