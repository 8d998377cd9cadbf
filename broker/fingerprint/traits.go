package fingerprint

import "bytes"

// trait is a property of a text that a decoder needs.
type trait uint16

const (
	hasEntities  trait = 1 << iota // &
	hasPercents                    // %
	hasBackslash                   // \
	hasPrintable                   // quoted-printable
	hasRuns                        // runs of base64
	hasHexes                       // runs of hexadecimal
	hasLists                       // lists of bytes
	hasZeros                       // UTF-16
	hasStrings                     // text in quotes
	isPacked                       // gzip or zlib

	hasEscapes = hasEntities | hasPercents | hasBackslash
)

const (
	// minRun is the length of the shortest run of base64 or hexadecimal that the first search
	// decodes, in bytes. It is the length of the shortest secret in hexadecimal. The shortest
	// secret in base64 has minShortRun bytes, and is found as a form. If the base64 encodes another
	// encoding of the secret, only an exact search finds it: that search decodes runs from
	// minShortRun bytes on.
	minRun      = 2 * MinLength
	minShortRun = (4*MinLength + 2) / 3
	// minLine is the length of the shortest line whose run may go on in the next
	// line, in bytes.
	minLine = minRun
	// minTokens is the least number of words in a list of bytes: a word may be two
	// bytes in hexadecimal. minList is the least length of a list, in bytes.
	minTokens, minList = MinLength / 2, 3*minTokens - 1
	// maxIndent bounds the space in front of a line of a run, in bytes.
	maxIndent = 48
)

// traits are the properties of a text.
type traits struct {
	known bool
	has   trait
	// runs are sequences of letters, digits and the signs of base64, also across the ends of lines.
	// hexes are the parts of such sequences that may be hexadecimal, and lists are sequences that
	// may be bytes as numbers. A sequence without a seam is left out, because the outer layer has
	// it too.
	runs, hexes, lists []part
	// strings are the texts in quotes that are not names of members, without their
	// quotes, and sequences of numbers.
	strings []part
}

const (
	// isLetter marks letters and digits, and is 1, so that it can be counted. inRun marks
	// these and the signs of base64, inHex the digits of hexadecimal, inGap separators
	// of a list, and inList everything in a list.
	isLetter = 1 << iota
	inRun
	inHex
	inGap
	inList
	isSpace
)

// classes gives the classes of each byte.
var classes = func() (c [256]uint8) {
	for b := range 256 {
		switch b := byte(b); {
		case b >= '0' && b <= '9', b >= 'a' && b <= 'f', b >= 'A' && b <= 'F':
			c[b] = isLetter | inRun | inHex | inList
		case b >= 'g' && b <= 'z', b >= 'G' && b <= 'Z':
			c[b] = isLetter | inRun
		case b == '+', b == '/', b == '-', b == '_':
			c[b] = inRun
		}
	}
	for _, b := range []byte("xXoO") {
		c[b] |= inList
	}
	c['+'] |= inGap | inList // a space, in data of an HTML form
	for _, b := range []byte(" \t\r\n") {
		c[b] = isSpace | inGap | inList
	}
	for _, b := range []byte(`,;:|()[]{}"'`) {
		c[b] = inGap | inList
	}
	return c
}()

// findStretches finds the sequences of bytes of a class in text, from byte i on, that have a
// minimal length. It calls each with every sequence, and continues at the offset that each returns.
func findStretches(text []byte, i int, class uint8, least int, each func(part) (next int)) {
	for i+least <= len(text) {
		// Look at the last byte first: most sequences are shorter, and the search goes
		// on behind the byte that ends them.
		k := i + least - 1
		for k >= i && classes[text[k]]&class != 0 {
			k--
		}
		if k >= i {
			i = k + 1
			continue
		}
		end := i + least
		for end < len(text) && classes[text[end]]&class != 0 {
			end++
		}
		i = each(part{i, end})
	}
}

// signs are bytes that stand for a trait.
var signs = []struct {
	c   byte
	has trait
}{{'&', hasEntities}, {'%', hasPercents}, {'\\', hasBackslash}, {'"', hasStrings}, {0, hasZeros}, {0xef, hasZeros}}

// survey finds the traits of a layer, once.
func (l *layer) survey() *traits {
	t := &l.traits
	if t.known {
		return t
	}
	t.known = true
	text := l.text
	for _, sign := range signs {
		if bytes.IndexByte(text, sign.c) >= 0 {
			t.has |= sign.has
		}
	}
	// The outer layer has the runs and lists of joined strings.
	if !l.joined {
		l.findRuns()
	}
	if t.has&hasStrings != 0 {
		switch {
		case l.unquoted:
		case !l.joined:
			t.strings = findStrings(t.strings, text)
		case holdsJSON(text[:l.forward]):
			t.strings = findStrings(t.strings, text[:l.forward])
		}
		if len(t.strings) == 0 || len(t.strings) == 1 && !holdsJSON(text[t.strings[0].from:t.strings[0].to]) {
			t.has &^= hasStrings
		}
	}
	if !l.joined && len(l.path) == 0 && detectPacking(text) != nil {
		t.has |= isPacked
	}
	return t
}

// findRuns finds runs, lists and quoted-printable.
func (l *layer) findRuns() {
	t, text := &l.traits, l.text
	least := minRun
	if l.exact {
		least = minShortRun
	}
	isNew := l.findSeams()
	findStretches(text, 0, inRun, least, func(p part) int {
		p.to = skipPadding(text, followLines(text, p.to))
		if isNew(p) {
			l.addRun(p)
		}
		return p.to
	})
	isNew = l.findSeams()
	findStretches(text, 0, inList, minList, func(p part) int {
		if isNew(p) && isList(text[p.from:p.to]) {
			t.lists = append(t.lists, p)
			t.has |= hasLists
		}
		return p.to
	})
	for i := 0; i < len(text); i++ {
		next := bytes.IndexByte(text[i:], '=')
		if next < 0 {
			return
		}
		if i += next; isPrintable(text[i:]) {
			t.has |= hasPrintable
			return
		}
	}
}

// addRun records a run. A run of hexadecimal digits only is not base64: 16 characters of base64
// almost always include other characters.
func (l *layer) addRun(run part) {
	t, all := &l.traits, false
	findStretches(l.text[:run.to], run.from, inHex|isSpace, minRun, func(p part) int {
		all = p == run
		n := 0
		for _, c := range l.text[p.from:p.to] {
			n += int(classes[c] & inHex / inHex)
		}
		if n >= minRun {
			t.hexes = append(t.hexes, p)
			t.has |= hasHexes
		}
		return p.to
	})
	if !all {
		t.runs = append(t.runs, run)
		t.has |= hasRuns
	}
}

// skipPadding returns the end of the padding behind a run of base64.
func skipPadding(text []byte, end int) int {
	for range 2 {
		if end < len(text) && text[end] == '=' && !isPrintable(text[end:]) {
			end++
		}
	}
	return end
}

// isList reports whether text has enough words for a list of bytes.
func isList(text []byte) bool {
	words, inWord := 0, false
	for _, c := range text {
		if now := classes[c]&inGap == 0; now != inWord {
			if inWord = now; now {
				words++
			}
		}
	}
	return words >= minTokens
}

// holdsJSON reports whether text holds an object with members, or an array of
// strings, plain or within a string. White space may stand in front of the first
// member or string.
func holdsJSON(text []byte) bool {
	for i := 0; ; i++ {
		next := bytes.IndexByte(text[i:], '"')
		if next < 0 {
			return false
		}
		i += next
		if before := skipSpaceBack(text[:i]); before > 0 && (text[before-1] == '{' || text[before-1] == '[') {
			return true
		}
	}
}

// skipSpaceBack returns the end of text without the backslashes and the white space at its end.
// White space may be escaped, as in \n and \\n.
func skipSpaceBack(text []byte) (end int) {
	for end = len(text); end > 0; end-- {
		switch c := text[end-1]; {
		case c == '\\', classes[c]&isSpace != 0:
		case (c == 'n' || c == 'r' || c == 't') && end > 1 && text[end-2] == '\\':
		default:
			return end
		}
	}
	return end
}

// followLines returns the end of a run that may go on in the next lines.
func followLines(text []byte, end int) int {
	for {
		next := end
		for next < len(text) && next-end < maxIndent && classes[text[next]]&isSpace != 0 {
			next++
		}
		if bytes.IndexByte(text[end:next], '\n') < 0 {
			return end
		}
		start := next
		for next < len(text) && classes[text[next]]&inRun != 0 {
			next++
		}
		switch {
		case next == start:
			return end
		case next-start < minLine:
			return next
		}
		end = next
	}
}

// isPrintable reports whether text, which begins with =, looks like
// quoted-printable and not like a number in a query.
func isPrintable(text []byte) bool {
	if len(text) > 1 && text[1] == '\n' || len(text) > 2 && text[1] == '\r' && text[2] == '\n' {
		return true
	}
	b, ok := hexByte(text[1:])
	switch {
	case !ok:
		return false
	case b >= 0xc2: // the beginning of a character in UTF-8
		return len(text) > 3 && text[3] == '='
	default: // a sign whose number has a letter: = itself is =3D
		return b >= ' ' && b < 0x80 && text[2] >= 'A' && text[2] <= 'F' && classes[b]&inRun == 0
	}
}

// findStrings appends the texts in quotes that no colon follows, and sequences of
// at least MinLength numbers that may be bytes.
func findStrings(found []part, text []byte) []part {
	numbers := 0
	for i := 0; i < len(text); {
		switch c := classes[text[i]]; {
		case text[i] == '"':
			start := i + 1
			end := findClosingQuote(text, start)
			i = end + 1
			for i < len(text) && classes[text[i]]&isSpace != 0 {
				i++
			}
			if end > start && (i >= len(text) || text[i] != ':') {
				found, numbers = append(dropFewNumbers(found, numbers), part{start, end}), 0
			}
		case c&inRun != 0:
			start := i
			for i < len(text) && (classes[text[i]]&inRun != 0 || text[i] == '.') {
				i++
			}
			if _, ok := parseDecimal(text[start:i]); ok {
				found = append(found, part{start, i})
				numbers++
			}
		default:
			i++
		}
	}
	return dropFewNumbers(found, numbers)
}

// dropFewNumbers removes the last numbers if they are too few for a secret.
func dropFewNumbers(found []part, numbers int) []part {
	if numbers < MinLength {
		return found[:len(found)-numbers]
	}
	return found
}

// findClosingQuote returns the end of the string that begins at i.
func findClosingQuote(text []byte, i int) int {
	for start := i; ; {
		next := bytes.IndexByte(text[i:], '"')
		if next < 0 {
			return len(text)
		}
		i += next
		slashes := i
		for slashes > start && text[slashes-1] == '\\' {
			slashes--
		}
		if (i-slashes)%2 == 0 {
			return i
		}
		i++
	}
}
