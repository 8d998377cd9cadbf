package fingerprint

import (
	"bytes"
	"html"
	"unicode/utf16"
	"unicode/utf8"
)

// maxEntity bounds the name of an entity, in bytes. The longest name in HTML has 31.
const maxEntity = 32

// metas gives the kind of escape that a byte begins.
var metas = [256]trait{'&': hasEntities, '%': hasPercents, '\\': hasBackslash, '=': hasPrintable, 0: hasZeros, 0xef: hasZeros}

// replacement is the character that HTML and other formats write instead of a zero.
const replacement = "\ufffd"

// decodeEscape appends the decoded escape at the beginning of text, and returns the
// length of the escape; 0 if there is none.
func decodeEscape(to, text []byte, meta trait) ([]byte, int) {
	switch meta {
	case hasEntities:
		meant, n := decodeEntity(to, text)
		if n > 0 && text[n-1] != ';' && hasEncodedSemicolon(text[n:]) {
			return to, 0
		}
		return meant, n
	case hasPercents:
		return decodePercent(to, text)
	case hasBackslash:
		return decodeBackslash(to, text)
	case hasZeros:
		switch {
		case text[0] == 0:
			return to, 1
		case bytes.HasPrefix(text, []byte(replacement)):
			return to, len(replacement)
		}
		return to, 0
	default:
		return decodePrintable(to, text)
	}
}

// hasEncodedSemicolon reports whether text begins with a semicolon that is encoded as in
// a URL or with a backslash. An entity in front of it ends with this semicolon, so the
// semicolon has to be decoded before the entity.
func hasEncodedSemicolon(text []byte) bool {
	for rest, found := bytes.CutPrefix(text, []byte("%")); found; rest, found = bytes.CutPrefix(rest, []byte("25")) {
		if b, ok := hexByte(rest); ok && b == ';' {
			return true
		}
	}
	for _, semicolon := range []string{`\;`, `\u003b`, `\u003B`, `\x3b`, `\x3B`} {
		if bytes.HasPrefix(text, []byte(semicolon)) {
			return true
		}
	}
	return false
}

// decodeEntity decodes what HTML and XML write as &name; or &#number;. The semicolon may be missing
// from names that browsers accept without it.
func decodeEntity(to, text []byte) ([]byte, int) {
	if len(text) > 2 && text[1] == '#' {
		return decodeNumber(to, text)
	}
	end := 1
	for end < len(text) && end < maxEntity && classes[text[end]]&inRun != 0 {
		end++
	}
	if end < 3 {
		return to, 0
	}
	if end < len(text) && text[end] == ';' {
		end++
	}
	name := text[1:end]
	switch string(name) {
	case "amp;":
		return append(to, '&'), end
	case "lt;":
		return append(to, '<'), end
	case "gt;":
		return append(to, '>'), end
	case "quot;":
		return append(to, '"'), end
	case "apos;":
		return append(to, '\''), end
	}
	written := string(text[:end])
	meant := html.UnescapeString(written)
	switch {
	case meant == written:
		return to, 0
	case name[len(name)-1] == ';' && (meant[len(meant)-1] != ';' || meant == ";"):
		return append(to, meant...), end
	}
	// Other letters follow the name of an entity that needs no semicolon.
	_, size := utf8.DecodeRuneInString(meant)
	return append(to, meant[:size]...), end - (len(meant) - size)
}

// decodeNumber decodes an entity that has the number of a character, such as &#65;.
func decodeNumber(to, text []byte) ([]byte, int) {
	i, base := 2, rune(10)
	if text[i]|0x20 == 'x' {
		i, base = 3, 16
	}
	start, r := i, rune(0)
	for ; i < len(text); i++ {
		d, ok := digit(text[i])
		if !ok || d >= base {
			break
		}
		if r = r*base + d; r > utf8.MaxRune {
			return to, 0
		}
	}
	if i == start {
		return to, 0
	}
	if i < len(text) && text[i] == ';' {
		i++
	}
	return utf8.AppendRune(to, r), i
}

// decodePercent decodes what URLs write as %XX, and JavaScript's escape as %uXXXX.
func decodePercent(to, text []byte) ([]byte, int) {
	if len(text) > 1 && text[1]|0x20 == 'u' {
		return decodeUnit(to, text)
	}
	b, ok := hexByte(text[1:])
	if !ok {
		return to, 0
	}
	return append(to, b), 3
}

// decodePrintable decodes what quoted-printable writes as =XX. It drops a = at the end of a line
// together with the end of the line.
func decodePrintable(to, text []byte) ([]byte, int) {
	switch rest := text[1:]; {
	case len(rest) > 0 && rest[0] == '\n':
		return to, 2
	case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
		return to, 3
	}
	b, ok := hexByte(text[1:])
	if !ok {
		return to, 0
	}
	return append(to, b), 3
}

// named are the characters that a backslash and one other character stand for.
var named = func() (n [256]byte) {
	for c := byte(' '); c < 0x7f; c++ {
		if classes[c]&isLetter == 0 {
			n[c] = c
		}
	}
	for i, c := range []byte("abefnrtv") {
		n[c] = "\a\b\x1b\f\n\r\t\v"[i]
	}
	return n
}()

// decodeBackslash decodes what JSON, C and languages after them, shells and regular
// expressions write with a backslash.
func decodeBackslash(to, text []byte) ([]byte, int) {
	if len(text) < 2 {
		return to, 0
	}
	switch c := text[1]; {
	case named[c] != 0:
		return append(to, named[c]), 2
	case c == 'u':
		return decodeUnit(to, text)
	case c == 'U':
		return decodeDigits(to, text, 2, 8)
	case c == 'x':
		if len(text) > 2 && text[2] == '{' {
			return decodeBraced(to, text)
		}
		b, ok := hexByte(text[2:])
		if !ok {
			return to, 0
		}
		return append(to, b), 4
	case c >= '0' && c <= '7':
		return decodeOctal(to, text)
	case c == '\n':
		return to, 2 // the line goes on
	default:
		return to, 0
	}
}

// decodeUnit decodes \uXXXX or %uXXXX, two of them if they are one character, and
// \u{X}.
func decodeUnit(to, text []byte) ([]byte, int) {
	if len(text) > 2 && text[2] == '{' {
		return decodeBraced(to, text)
	}
	high, ok := hexRune(text, 2, 4)
	if !ok {
		return to, 0
	}
	if utf16.IsSurrogate(high) && len(text) > 7 && text[6] == text[0] && text[7] == text[1] {
		if low, ok := hexRune(text, 8, 4); ok {
			if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
				return utf8.AppendRune(to, r), 12
			}
		}
	}
	if utf16.IsSurrogate(high) {
		return to, 0 // half a character: the other half may have one more layer of escapes
	}
	return utf8.AppendRune(to, high), 6
}

func decodeDigits(to, text []byte, at, n int) ([]byte, int) {
	r, ok := hexRune(text, at, n)
	if !ok {
		return to, 0
	}
	return utf8.AppendRune(to, r), at + n
}

// decodeBraced decodes \u{X} and \x{X}, of up to eight digits.
func decodeBraced(to, text []byte) ([]byte, int) {
	end := bytes.IndexByte(text[:min(len(text), 12)], '}')
	if end < 4 {
		return to, 0
	}
	to, n := decodeDigits(to, text, 3, end-3)
	if n == 0 {
		return to, 0
	}
	return to, end + 1
}

// decodeOctal decodes up to three digits.
func decodeOctal(to, text []byte) ([]byte, int) {
	value, n := 0, 1
	for n < len(text) && n < 4 && text[n] >= '0' && text[n] <= '7' && value*8 < 256 {
		value = value*8 + int(text[n]-'0')
		n++
	}
	return append(to, byte(value)), n
}

// hexRune reads n hexadecimal digits.
func hexRune(text []byte, at, n int) (r rune, ok bool) {
	if len(text) < at+n {
		return 0, false
	}
	for _, c := range text[at : at+n] {
		d, ok := digit(c)
		if !ok || r > utf8.MaxRune {
			return 0, false
		}
		r = r<<4 | d
	}
	return r, r <= utf8.MaxRune
}

// hexByte reads two hexadecimal digits.
func hexByte(text []byte) (byte, bool) {
	r, ok := hexRune(text, 0, 2)
	return byte(r), ok
}

// digits gives the value of each hexadecimal digit, and noDigit for other bytes.
const noDigit = 16

var digits = func() (d [256]byte) {
	for b := range d {
		d[b] = noDigit
	}
	for _, all := range []string{"0123456789abcdef", "0123456789ABCDEF"} {
		for i, c := range []byte(all) {
			d[c] = byte(i)
		}
	}
	return d
}()

func digit(c byte) (rune, bool) { return rune(digits[c]), digits[c] != noDigit }
