package strictjson

import "unicode/utf8"

// readString reads a string behind its opening quote.
func (t *Tape) readString(at int, kind byte) (int, bool) {
	start, escaped := at, false
	for {
		for at < len(t.raw) && plainByte[t.raw[at]] {
			at++
		}
		if at >= len(t.raw) {
			return at, false
		}
		c := t.raw[at]
		switch {
		case c == '"':
			t.Items[t.put(kind, start, at)].Escaped = escaped
			return at + 1, true
		case c < ' ':
			return at, false
		case c == '\\':
			n := escape(t.raw[at:])
			if n == 0 {
				return at, false
			}
			escaped = true
			at += n
		default:
			r, n := utf8.DecodeRune(t.raw[at:])
			if r == utf8.RuneError && n == 1 {
				return at, false
			}
			at += n
		}
	}
}

// plainByte are the bytes of a string that stand for themselves alone.
var plainByte = func() (plain [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		plain[c] = c != '"' && c != '\\'
	}
	return plain
}()

// escape is the length of the escape that raw begins with; 0 if it is none
// or half of a surrogate pair.
func escape(raw []byte) int {
	if len(raw) < 2 {
		return 0
	}
	switch raw[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		switch r := hex4(raw[2:]); {
		case r < 0, 0xdc00 <= r && r < 0xe000:
			return 0
		case 0xd800 <= r && r < 0xdc00:
			if len(raw) < 8 || raw[6] != '\\' || raw[7] != 'u' {
				return 0
			}
			if low := hex4(raw[8:]); low < 0xdc00 || low >= 0xe000 {
				return 0
			}
			return 12
		default:
			return 6
		}
	}
	return 0
}

func hex4(raw []byte) int {
	if len(raw) < 4 {
		return -1
	}
	r := 0
	for _, c := range raw[:4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | int(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | int(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | int(c-'A'+10)
		default:
			return -1
		}
	}
	return r
}

// readNumber reads a number that some float64 holds.
func (t *Tape) readNumber(at int) (int, bool) {
	start := at
	digits := func() bool {
		from := at
		for at < len(t.raw) && '0' <= t.raw[at] && t.raw[at] <= '9' {
			at++
		}
		return at > from
	}
	if t.raw[at] == '-' {
		at++
	}
	if at < len(t.raw) && t.raw[at] == '0' {
		at++
	} else if !digits() {
		return at, false
	}
	plain := true
	if at < len(t.raw) && t.raw[at] == '.' {
		at++
		if !digits() {
			return at, false
		}
	}
	if at < len(t.raw) && (t.raw[at] == 'e' || t.raw[at] == 'E') {
		plain = false
		if at++; at < len(t.raw) && (t.raw[at] == '+' || t.raw[at] == '-') {
			at++
		}
		if !digits() {
			return at, false
		}
	}
	t.put('0', start, at)
	if plain && at-start <= 300 || finiteNumber(string(t.raw[start:at])) {
		return at, true
	}
	t.reason = HugeNumber
	return start, false
}
