package fingerprint

import (
	"math/bits"
	"math/rand/v2"
	"sort"
)

// span is the range of a form in a layer.
type span struct {
	from, to int
	form     *form
}

// folds maps upper case to lower case, and + to the space that + means in HTML forms and queries of
// URLs.
var folds = func() (f [256]byte) {
	for c := range f {
		f[c] = byte(c)
	}
	for c := 'A'; c <= 'Z'; c++ {
		f[c] = byte(c) + 'a' - 'A'
	}
	f['+'] = ' '
	return f
}()

// scan returns the forms in a layer. Unless all is set or the whole layer is new, it may search only
// around the seams. It adds a label to suspects if it finds a window of the secret but not the whole form.
func (s *Set) scan(l *layer, all bool, suspects map[string]bool) (found []span) {
	text := l.text
	if len(text) < window {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.by) == 0 {
		return nil
	}
	// left is the squeezed text. It is built only if the hash of a squeezed window is that of a
	// form.
	var left []byte
	var at []int
	walks := map[anchor]*walk{}
	check := func(hash uint64, end int, squeezed bool) {
		anchors, in := s.by[hash], text
		if squeezed && len(anchors) > 0 {
			if left == nil {
				left = squeeze(text, &at)
			}
			in, end = left, sort.SearchInts(at, end)
		}
		for _, a := range anchors {
			f, from := a.form, end-window-a.at
			if f.squeezed != squeezed {
				continue
			}
			if from < 0 || from+f.length > len(in) {
				suspects[f.label] = true
				continue
			}
			w := walks[a]
			if w == nil {
				w = newWalk(f)
				walks[a] = w
			}
			switch {
			case from == w.found: // no letter or digit stood behind the window that was checked last
			case !s.matches(w, in, from):
				suspects[f.label] = true
			case squeezed:
				found = append(found, span{at[from], at[from+f.length-1] + 1, f})
			default:
				found = append(found, span{from, from + f.length, f})
			}
		}
	}
	if l.whole || all || len(l.seams)*dense > len(text) {
		s.scanWindows(text, part{0, len(text)}, check)
		return found
	}
	for k := 0; k < len(l.seams); {
		var near part
		near, k = l.regionAround(k)
		s.scanWindows(text, near, check)
	}
	return found
}

// dense is the number of bytes per seam below which it is cheaper to scan the
// whole text.
const dense = 32

// maxAround bounds the distance between a seam and the ends of a squeezed window
// that holds it, in bytes.
const maxAround = 256

// regionAround returns the part of a layer whose windows hold seam number k and
// the seams that follow closely, and the number of the next seam.
func (l *layer) regionAround(k int) (p part, next int) {
	at, least := l.seams[k], window
	if l.joined { // a secret over the seam may have its window inside one of the strings
		least = maxAround
	}
	p.from, p.to = at, at
	for n := 1; p.from > 0 && at-p.from < maxAround && (n < window || at-p.from < least); p.from-- {
		n += int(classes[l.text[p.from-1]] & isLetter)
	}
	for {
		var n int
		for p.to < len(l.text) && p.to-at < maxAround && (n < window || p.to-at < least) {
			n += int(classes[l.text[p.to]] & isLetter)
			p.to++
		}
		if k++; k == len(l.seams) || l.seams[k] > p.to {
			return p, k
		}
		at = l.seams[k]
	}
}

// scanWindows calls check with the hash of each window in a part of a text that
// passes the filter, and with its end.
func (s *Set) scanWindows(text []byte, in part, check func(hash uint64, end int, squeezed bool)) {
	var w, v uint64 // the hashes of the last bytes, and of the last letters and digits
	for i := in.from; i < in.to; {
		var n int
		if n, w, v = s.skipWindows(text[i:in.to], w, v); n == 0 { // one byte is left
			n = 1
			w, v = s.mix.add(w, v, text[i])
		}
		i += n
		if s.filter.has(w) {
			check(w, i, false)
		}
		if s.filter.has(v) {
			check(v, i, true)
		}
	}
}

// skipWindows reads pairs of bytes until the filter may have one of the windows that
// end there. It returns how many bytes it read, and the hashes of these windows.
func (s *Set) skipWindows(text []byte, w, v uint64) (n int, _, _ uint64) {
	// This loop runs for every byte of every answer: local copies save it loads from memory.
	mix, bits, last := &s.mix, s.filter, uint64(len(s.filter)-1)
	for n = 0; n < len(text)-1; n += windows {
		w, v = mix.add(w, v, text[n])
		w, v = mix.add(w, v, text[n+1])
		if bits[w>>6&last]&(1<<(w&63)) != 0 || bits[v>>6&last]&(1<<(v&63)) != 0 {
			return n + windows, w, v
		}
	}
	return n, w, v
}

// filter is a Bloom filter of the windows of all forms, with two bits for each
// window: most windows of a text fail it. Its length is a power of 2.
type filter []uint64

// newFilter returns a filter for n windows. The smallest one fits the cache of a core,
// and few windows of a text pass it.
func newFilter(n int) filter {
	size := 1 << 10
	for size*64 < n*sparse {
		size *= 2
	}
	return make(filter, size)
}

func (f filter) has(h uint64) bool {
	last, second := uint64(len(f)-1), bits.RotateLeft64(h, 32)
	return f[h>>6&last]&(1<<(h&63)) != 0 && f[second>>6&last]&(1<<(second&63)) != 0
}

func (f filter) add(h uint64) {
	for _, h := range []uint64{h, bits.RotateLeft64(h, 32)} {
		f[h>>6&uint64(len(f)-1)] |= 1 << (h & 63)
	}
}

// mixer hashes windows. It has a random number for each byte, from the key of the set. The upper
// and the lower case of a letter have the same number. A number has 63 bits, and each further byte
// shifts the hash by 9 bits, so a hash does not depend on the bytes in front of its window.
type mixer struct {
	bytes [256]uint64
	// letters has the numbers of letters and digits. For other bytes it has 0, which leaves the
	// hash of a squeezed window as it is. The low bits of a number hold the shift, because a branch
	// would cost more.
	letters [256]uint64
}

// shift is how far a byte shifts a hash, in bits.
const shift = 63 / window

func newMixer(key [32]byte) (m mixer) {
	random := rand.New(rand.NewChaCha8(key))
	// A hash keeps 9 bits of the number of the first byte of its window. These 9 bits are not 0 and
	// differ from byte to byte, so a window with another first byte has another hash.
	var numbers [256]uint64
	for c, first := range random.Perm(1<<shift - 1)[:len(numbers)] {
		numbers[c] = uint64(first+1)<<(63-shift) | random.Uint64()>>(1+shift)
	}
	for c, folded := range folds {
		m.bytes[c] = numbers[folded]
		if classes[c]&isLetter != 0 {
			m.bytes[c] = m.bytes[c]&^63 | shift
			m.letters[c] = m.bytes[c]
		}
	}
	return m
}

// add returns the hashes w and v with byte c added. w is the hash of the last bytes, and v of the
// last letters and digits.
func (m *mixer) add(w, v uint64, c byte) (uint64, uint64) {
	letter := m.letters[c]
	return w>>shift ^ m.bytes[c], v>>(letter&63) ^ letter
}

// of returns the hash of the window at the beginning of a text.
func (m *mixer) of(text []byte) (w uint64) {
	for _, c := range text[:window] {
		w, _ = m.add(w, 0, c)
	}
	return w
}
