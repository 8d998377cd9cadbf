package fingerprint

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"slices"
	"strconv"
)

// sextets gives the value of each character of both alphabets of base64, and
// noSextet for other bytes.
const noSextet = 64

var sextets = func() (s [256]byte) {
	for b := range s {
		s[b] = noSextet
	}
	for _, alphabet := range []string{
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
	} {
		for i, c := range []byte(alphabet) {
			s[c] = byte(i)
		}
	}
	return s
}()

// decodeBase64 returns a decoder of runs of base64 that skips their first
// characters: other text may stand directly in front of the base64.
func decodeBase64(skip int) func(in, out *layer) bool {
	return func(in, out *layer) bool {
		out.whole = true
		for _, run := range in.survey().runs {
			start := len(out.text)
			out.appendBase64(in, part{run.from + skip, run.to})
			out.unpackRun(in, run, start)
			out.putDecoded(in, run.to-1, run.to, '\n')
		}
		return len(out.text) > 0
	}
}

func (l *layer) appendBase64(in *layer, run part) {
	var (
		bits uint
		n    int
		at   [4]int
	)
	i := run.from
	if !l.tracked { // the shortcut for most runs
		l.text, i = appendQuads(l.text, in.text[:run.to], i)
	}
	for ; i < run.to; i++ {
		s := sextets[in.text[i]]
		if s == noSextet {
			continue // the end of a line
		}
		bits, at[n] = bits<<6|uint(s), i
		if n++; n < 4 {
			continue
		}
		if l.tracked {
			l.putDecoded(in, at[0], at[1]+1, byte(bits>>16))
			l.putDecoded(in, at[1], at[2]+1, byte(bits>>8))
			l.putDecoded(in, at[2], at[3]+1, byte(bits))
		} else {
			l.text = append(l.text, byte(bits>>16), byte(bits>>8), byte(bits))
		}
		n = 0
	}
	switch n {
	case 2:
		l.putDecoded(in, at[0], run.to, byte(bits>>4))
	case 3:
		l.putDecoded(in, at[0], at[1]+1, byte(bits>>10))
		l.putDecoded(in, at[1], run.to, byte(bits>>2))
	}
}

// appendQuads decodes the base64 in text from i, in groups of four characters, up to the first
// incomplete group. It returns the offset of that group.
func appendQuads(to, text []byte, i int) (all []byte, next int) {
	for ; i+4 <= len(text); i += 4 {
		a, b, c, d := sextets[text[i]], sextets[text[i+1]], sextets[text[i+2]], sextets[text[i+3]]
		if (a|b|c|d)&noSextet != 0 {
			break
		}
		to = append(to, a<<2|b>>4, b<<4|c>>2, c<<6|d)
	}
	return to, i
}

// decodeHex returns a decoder of runs of hexadecimal. The decoder leaves out the first skip digits of each run, because a
// digit of other text may stand directly in front of the hexadecimal. It also unpacks each run. A newline ends each decoded
// run.
func decodeHex(skip int) func(in, out *layer) bool {
	return func(in, out *layer) bool {
		out.whole = true
		for _, run := range in.survey().hexes {
			start := len(out.text)
			out.appendHex(in, run, skip)
			out.unpackRun(in, run, start)
			out.putDecoded(in, run.to-1, run.to, '\n')
		}
		return len(out.text) > 0
	}
}

func (l *layer) appendHex(in *layer, run part, skip int) {
	i := run.from
	for ; skip > 0; i++ { // a run has at least minRun digits
		if _, ok := digit(in.text[i]); ok {
			skip--
		}
	}
	if !l.tracked { // the shortcut for most runs
		l.text, i = appendPairs(l.text, in.text[:run.to], i)
	}
	for high, at := rune(-1), 0; i < run.to; i++ {
		d, ok := digit(in.text[i])
		switch {
		case !ok: // the end of a line
		case high < 0:
			high, at = d, i
		default:
			l.putDecoded(in, at, i+1, byte(high<<4|d))
			high = -1
		}
	}
}

// appendPairs decodes the hexadecimal in text from i, up to the first pair that has a byte that is
// no digit. It returns the offset of that pair.
func appendPairs(to, text []byte, i int) (all []byte, next int) {
	for ; i+2 <= len(text); i += 2 {
		high, low := digits[text[i]], digits[text[i+1]]
		if (high|low)&noDigit != 0 {
			break
		}
		to = append(to, high<<4|low)
	}
	return to, i
}

// decodeList returns a decoder of lists of numbers, such as [104, 105] or 68 69, in which each number is a byte. It finds a secret
// that was printed as bytes. read parses one number.
func decodeList(read func(word []byte) (b byte, ok bool)) func(in, out *layer) bool {
	return func(in, out *layer) bool {
		out.whole = true
		for _, at := range in.survey().lists {
			for i := at.from; i < at.to; {
				if classes[in.text[i]]&inGap != 0 {
					i++
					continue
				}
				end := i
				for end < at.to && classes[in.text[end]]&inGap == 0 {
					end++
				}
				out.appendNumber(in, part{i, end}, read)
				i = end
			}
			out.putDecoded(in, at.to-1, at.to, '\n')
		}
		return len(out.text) > len(in.survey().lists)
	}
}

func (l *layer) appendNumber(in *layer, at part, read func(word []byte) (byte, bool)) {
	word := in.text[at.from:at.to]
	if len(word) == 4 && word[0]|0x20 != 'x' && word[1]|0x20 != 'x' {
		// Two bytes of a hexadecimal dump: other numbers have at most three digits
		// behind their prefix.
		high, first := read(word[:2])
		low, second := read(word[2:])
		if first && second {
			l.putDecoded(in, at.from, at.from+2, high)
			l.putDecoded(in, at.from+2, at.to, low)
			return
		}
	}
	if b, ok := read(word); ok {
		l.putDecoded(in, at.from, at.to, b)
	}
}

func parseDecimal(word []byte) (byte, bool) {
	n := 0
	for _, c := range word {
		if c < '0' || c > '9' || n > 25 {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return byte(n), n < 256
}

func parseOctal(word []byte) (byte, bool) {
	if word[0] == '0' && len(word) > 3 {
		word = bytes.TrimLeft(word[1:], "oO")
	}
	if len(word) != 3 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(word), 8, 8)
	return byte(n), err == nil
}

func parseHex(word []byte) (byte, bool) {
	if len(word) > 2 && word[0] == '0' && word[1]|0x20 == 'x' {
		word = word[2:]
	}
	if len(word) > 2 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(word), 16, 8)
	return byte(n), err == nil
}

// reader returns a reader of unpacked data.
type reader func(io.Reader) (io.ReadCloser, error)

// gzipped is the beginning of data that gzip packed.
var gzipped = []byte{0x1f, 0x8b, 8}

// zlibbed is the first byte of data that zlib packed. levels are the possible second bytes, one for
// each level of compression.
const zlibbed = 0x78

var levels = []byte{0x01, 0x5e, 0x9c, 0xda}

// detectPacking returns the reader for packed data; nil if data is not packed.
func detectPacking(data []byte) reader {
	switch {
	case bytes.HasPrefix(data, gzipped):
		return func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }
	case len(data) > 8 && data[0] == zlibbed && bytes.IndexByte(levels, data[1]) >= 0:
		return zlib.NewReader
	}
	return nil
}

// maxTries bounds how often a run is unpacked: other data too may have the bytes
// that packed data begins with.
const maxTries = 3

// unpackRun appends the unpacked data of a run, whose bytes begin at start, if gzip or zlib packed
// them. All of the data originates in the whole run. Other bytes may precede the packed bytes, and
// other data may look packed.
func (l *layer) unpackRun(in *layer, run part, start int) {
	end, left := len(l.text), min(maxInflated, l.room-len(l.text))
	for try := 0; start < end && try < maxTries && left > 0; start++ {
		if c := l.text[start]; c != gzipped[0] && c != zlibbed {
			continue
		}
		unpack := detectPacking(l.text[start:end])
		if unpack == nil {
			continue
		}
		try++
		if plain := inflate(unpack, l.text[start:end], left); len(plain) >= MinLength {
			left -= len(plain)
			l.putDecoded(in, run.from, run.to, append(plain, '\n')...)
		}
	}
}

// decodePacked decodes a text that gzip or zlib packed.
func decodePacked(in, out *layer) bool {
	out.whole = true
	out.text = append(out.text, in.text...)
	for i := range out.text {
		if out.tracked {
			from, to := in.originOf(i, i+1)
			out.from, out.to = append(out.from, from), append(out.to, to)
		}
	}
	out.unpackRun(in, part{0, len(in.text)}, 0)
	return len(out.text) > 0
}

// maxInflated bounds the unpacked size of a run, in bytes.
const maxInflated = 1 << 20

// inflate unpacks up to limit bytes. Of data that is cut it returns the beginning.
func inflate(unpack reader, data []byte, limit int) []byte {
	r, err := unpack(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	var plain bytes.Buffer
	_, _ = io.Copy(&plain, io.LimitReader(r, int64(limit))) // what was read before an error is searched
	return plain.Bytes()
}

// maxEnd is the length of the ends of a long string that are joined, in bytes.
const maxEnd = 64

// appendEnds appends a string without its escapes. If the layer is exact, it decodes only the
// escapes of JSON and keeps the string whole. Otherwise it appends only both ends of a long string:
// the first search looks only for windows across the place where two strings meet.
func (l *layer) appendEnds(in *layer, p part) {
	switch {
	case l.exact:
		l.unescape(in, p.from, p.to, hasBackslash, false)
	case holdsJSON(in.text[p.from:p.to]):
		// Nested JSON keeps its inner escapes: its strings are decoded next.
		l.unescape(in, p.from, p.to, hasEscapes, false)
	case p.to-p.from > 3*maxEnd:
		l.unescape(in, p.from, p.from+maxEnd, hasEscapes, true)
		l.markSeam(len(l.text))
		l.unescape(in, p.to-maxEnd, p.to, hasEscapes, true)
	default:
		l.unescape(in, p.from, p.to, hasEscapes, true)
	}
}

// joinStrings decodes a text into its strings, joined in their order and then in the
// reverse order. A secret that is cut over several strings is whole there.
func joinStrings(in, out *layer) bool {
	out.joined, out.unquoted = true, false
	parts := make([]part, 0, len(in.survey().strings))
	for _, p := range in.survey().strings {
		start := len(out.text)
		out.markSeam(start)
		if seams := len(out.seams); p.from > 0 && in.text[p.from-1] == '"' {
			out.appendEnds(in, p)
			if !out.exact { // decodeEscapes has made a layer with the decoded bytes of each string
				out.seams = out.seams[:seams]
			}
		} else {
			b, _ := parseDecimal(in.text[p.from:p.to])
			out.putDecoded(in, p.from, p.to, b)
		}
		parts = append(parts, part{start, len(out.text)})
	}
	out.forward = len(out.text)
	for _, p := range slices.Backward(parts) {
		out.markSeam(len(out.text))
		if p.to-p.from > 3*maxEnd && !out.exact {
			out.repeat(part{p.from, p.from + maxEnd})
			p.from = p.to - maxEnd
			out.markSeam(len(out.text))
		}
		out.repeat(p)
	}
	return true
}

// repeat appends a part of a layer to the layer.
func (l *layer) repeat(p part) {
	l.text = append(l.text, l.text[p.from:p.to]...)
	if l.tracked {
		l.from, l.to = append(l.from, l.from[p.from:p.to]...), append(l.to, l.to[p.from:p.to]...)
	}
}
