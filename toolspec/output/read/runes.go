package read

import "unicode/utf8"

// RuneStart returns the last index up to n at which a character begins, if text is UTF-8.
func RuneStart[Text ~string | ~[]byte](text Text, n int) int {
	if n >= len(text) {
		return len(text)
	}
	for i := n; i > 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return n
}

// WholeRunes returns the length of text without a character that is cut at its end.
func WholeRunes(text []byte) int {
	for i := len(text) - 1; i >= 0 && i >= len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if utf8.FullRune(text[i:]) {
				return len(text)
			}
			return i
		}
	}
	return len(text)
}
