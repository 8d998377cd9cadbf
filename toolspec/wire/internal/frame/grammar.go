package frame

// maxDepth bounds how deep objects and arrays may be nested, as encoding/json
// does.
const maxDepth = 10_000

// valid reports whether b is one JSON value (RFC 8259) and nothing but white
// space around it. Stream events are small and many, and this is most of what
// reading one costs: the check of the standard library takes three to four times
// as long.
func valid(b []byte) bool {
	end := skip(b, blank(b, 0), 0)
	return end >= 0 && blank(b, end) == len(b)
}

// blank returns the first position from i that is no white space.
func blank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// skip returns where the value that begins at i ends, or -1.
func skip(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{':
		return skipObject(b, i, depth+1)
	case '[':
		return skipArray(b, i, depth+1)
	case 't':
		return skipWord(b, i, "true")
	case 'f':
		return skipWord(b, i, "false")
	case 'n':
		return skipWord(b, i, "null")
	default:
		return skipNumber(b, i)
	}
}

func skipWord(b []byte, i int, word string) int {
	if end := i + len(word); end <= len(b) && string(b[i:end]) == word {
		return end
	}
	return -1
}

func skipObject(b []byte, i, depth int) int {
	if depth > maxDepth {
		return -1
	}
	i = blank(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return -1
		}
		if i = skipString(b, i); i < 0 {
			return -1
		}
		if i = blank(b, i); i >= len(b) || b[i] != ':' {
			return -1
		}
		if i = skip(b, blank(b, i+1), depth); i < 0 {
			return -1
		}
		if i = blank(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case ',':
			i = blank(b, i+1)
		case '}':
			return i + 1
		default:
			return -1
		}
	}
}

func skipArray(b []byte, i, depth int) int {
	if depth > maxDepth {
		return -1
	}
	i = blank(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = skip(b, i, depth); i < 0 {
			return -1
		}
		if i = blank(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case ',':
			i = blank(b, i+1)
		case ']':
			return i + 1
		default:
			return -1
		}
	}
}

// skipNumber takes -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?.
func skipNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b):
		return -1
	case b[i] == '0':
		i++
	default:
		if i = digits(b, i); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i] == '.' {
		if i = digits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digits(b, i)
	}
	return i
}

// digits skips one digit or more, and returns -1 where there is none.
func digits(b []byte, i int) int {
	start := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

// special marks the bytes at which a scan of a string has to think.
var special = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	t['"'], t['\\'] = true, true
	return t
}()

// skipString returns the position behind the closing quote of the string that
// begins at i, or -1.
func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		c := b[i]
		if !special[c] {
			continue
		}
		if c == '"' {
			return i + 1
		}
		if c != '\\' || i+1 >= len(b) {
			return -1
		}
		switch i++; b[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			for range 4 {
				if i++; i >= len(b) || !hex(b[i]) {
					return -1
				}
			}
		default:
			return -1
		}
	}
	return -1
}

func hex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
