package frame

import (
	"bytes"
	"strings"
)

// Unread is the text of a stream that has arrived since the last Take.
type Unread struct{ escaped []byte }

// Add appends the bytes between the quotes of a JSON string, with their escapes.
func (u *Unread) Add(escaped []byte) { u.escaped = append(u.escaped, escaped...) }

// Take returns the text that was added since the last Take. It keeps back the first half of an
// escaped surrogate pair, whose second half may come in the next string.
func (u *Unread) Take() string {
	end := len(u.escaped)
	if endsInHighSurrogate(u.escaped) {
		end -= len(`\uD83D`)
	}
	text := Loose(u.escaped[:end])
	u.escaped = append(u.escaped[:0], u.escaped[end:]...)
	return text
}

// endsInHighSurrogate reports whether the last escape of a text is \uD800 to \uDBFF.
func endsInHighSurrogate(escaped []byte) bool {
	at := len(escaped) - len(`\uD83D`)
	if at < 0 {
		return false
	}
	last := bytes.ToLower(escaped[at:])
	if last[0] != '\\' || last[1] != 'u' || last[2] != 'd' || !strings.ContainsRune("89ab", rune(last[3])) {
		return false
	}
	before := escaped[:at]
	backslashes := len(before) - len(bytes.TrimRight(before, `\`))
	return backslashes%2 == 0 // else the backslash itself is escaped
}
