package fingerprint

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// decodeEscapes returns a decoder of escapes of some kinds: entities, percent signs,
// backslashes. It decodes one layer. If deep is set, it also decodes the escapes
// that begin with a decoded byte, as in &amp;lt;.
func decodeEscapes(kinds trait, deep bool) func(in, out *layer) bool {
	return func(in, out *layer) bool {
		out.unescape(in, 0, len(in.text), kinds, deep)
		return len(out.seams) > 0
	}
}

// unescape appends the unescaped bytes i to j of the outer layer.
func (l *layer) unescape(outside *layer, i, j int, kinds trait, deep bool) {
	text := outside.text[:j]
	var buffer, deeper [8]byte
	for i < j {
		if metas[text[i]]&kinds&^hasBackslash == 0 { // otherwise copyPlain would copy nothing
			if i = l.copyPlain(outside, i, j, kinds, deep); i == j {
				return
			}
		}
		meant, n := buffer[:0], 0
		// In \&#92;n the entity is the outer escape: it is decoded first, and the backslash in front of it stays.
		if text[i] != '\\' || i+1 == j || metas[text[i+1]]&kinds&^hasBackslash == 0 || !isEscape(text[i+1:]) {
			meant, n = decodeEscape(meant, text[i:], metas[text[i]]&kinds)
		}
		if n == 0 {
			l.text = append(l.text, text[i])
			l.track(outside, i, i+1)
			i++
			continue
		}
		// After a backslash the decoded byte can be the second byte of an escape: \&#92;n is \\n now. The next layer
		// decodes this escape.
		if deep && len(meant) == 1 && metas[meant[0]]&kinds != 0 && (len(l.text) == 0 || l.text[len(l.text)-1] != '\\') {
			meant, n = decodeDeeper(deeper[:0], meant, text[i:], n, kinds)
		}
		l.putDecoded(outside, i, i+n, meant...)
		i += n
	}
}

// copyPlain appends the bytes of the outer layer from i up to the first byte that may begin an
// escape of these kinds, at most up to j, and returns the index of that byte. It also decodes an
// escape of a backslash and one character, in one layer or two, because most escapes have this
// form. It does so only if origins are not recorded and the decoded byte begins no further escape.
func (l *layer) copyPlain(outside *layer, i, j int, kinds trait, deep bool) int {
	text, start, n := outside.text[:j], i, len(l.text)
	to := slices.Grow(l.text, j-i+8)
	to = to[:cap(to)]
	stop := kinds
	if !deep {
		stop &^= hasBackslash
	}
	for {
		// Copy 8 bytes at a time. The copied bytes after the first escape are overwritten later.
		for kinds&hasEscapes != 0 && i <= len(text)-8 {
			word := binary.LittleEndian.Uint64(text[i:])
			binary.LittleEndian.PutUint64(to[n:], word)
			if found := findSigns(word); found != 0 {
				step := bits.TrailingZeros64(found) / 8
				i, n = i+step, n+step
				break
			}
			i, n = i+8, n+8
		}
		for i < len(text) && metas[text[i]]&kinds == 0 {
			to[n] = text[i]
			i, n = i+1, n+1
		}
		if l.tracked || i+1 >= len(text) || text[i] != '\\' {
			break
		}
		c, size := named[text[i+1]], 2
		if c == '\\' && deep {
			if n > 0 && to[n-1] == '\\' {
				break
			}
			c, size = decodeNamed(text[i:])
		}
		if c == 0 || metas[c]&stop != 0 {
			break
		}
		l.markSeam(n)
		to[n] = c
		i, n = i+size, n+1
	}
	binary.LittleEndian.PutUint64(to[n:], 0) // release clears only the text, and not the bytes after it
	l.text = to[:n]
	l.track(outside, start, i)
	return i
}

// decodeNamed decodes two layers of a backslash and one other character, as in \\n or
// \\\", and returns the length of the escape. It returns 0 for other texts.
func decodeNamed(text []byte) (c byte, n int) {
	switch {
	case len(text) > 3 && text[2] == '\\' && text[3] == '"':
		return '"', 4
	case len(text) > 2 && metas[text[2]]&hasEscapes == 0:
		return named[text[2]], 3
	}
	return 0, 0
}

// findSigns finds the bytes &, % and \ in a word of 8 bytes. The lowest bit that is set in the
// result is the highest bit of the first such byte.
func findSigns(word uint64) uint64 {
	const ones = 0x0101010101010101
	a, b, c := word^'&'*ones, word^'%'*ones, word^'\\'*ones
	return ((a-ones)&^a | (b-ones)&^b | (c-ones)&^c) & (ones << 7)
}

// isEscape reports whether text begins with an escape.
func isEscape(text []byte) bool {
	var buffer [8]byte
	_, n := decodeEscape(buffer[:0], text, metas[text[0]])
	return n > 0
}

// decodeDeeper decodes the escape that the byte meant begins, as the & of &amp;lt; does.
// meant is the decoded form of the first n bytes of text. decodeDeeper appends the result
// to the slice to, and returns it with the number of bytes of text that it decoded. It
// returns meant and n if meant begins no escape, or if another escape in text must be
// decoded first.
func decodeDeeper(to, meant, text []byte, n int, kinds trait) (all []byte, taken int) {
	var ahead [maxEntity + 8]byte
	all, taken = meant, n
	for taken < len(text) {
		if metas[text[taken]]&hasEscapes != 0 && !bytes.HasPrefix(text[taken:], []byte(`\"`)) {
			return meant, n
		}
		ahead[0] = all[0]
		more := ahead[:1+copy(ahead[1:], text[taken:])]
		next, length := decodeEscape(to, more, metas[all[0]]&kinds)
		if length < 2 || more[0] == '&' && more[length-1] != ';' {
			return meant, n
		}
		all, taken = next, taken+length-1
		if len(all) != 1 || metas[all[0]]&kinds == 0 {
			return all, taken
		}
	}
	return meant, n
}
