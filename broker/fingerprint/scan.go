package fingerprint

import (
	"encoding/binary"
	"sort"
)

// span is where a form stands in a layer.
type span struct {
	from, to int
	form     *form
}

// folds map upper case to lower case, and + to the space that it stands for in
// forms and queries.
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

// scan returns the forms in a layer, or, unless all is set, those at its seams. It
// adds the labels of which it finds a window and not the whole form to suspects.
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
	// The squeezed text is built only once one of its windows is of a form.
	var left []byte
	var at []int
	check := func(w uint64, end int, squeezed bool) {
		for _, a := range s.by[s.mix.of(w)] {
			f := a.form
			if f.squeezed != squeezed {
				continue
			}
			in, from := text, end-window-a.at
			if squeezed {
				if left == nil {
					left = squeeze(text, &at)
				}
				in, from = left, sort.SearchInts(at, end)-window-a.at
			}
			switch {
			case from < 0 || from+f.length > len(in) || s.digest(fold(in[from:from+f.length])) != f.all:
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
	at := l.seams[k]
	p.from, p.to = at, at
	for n := 1; p.from > 0 && at-p.from < maxAround && (n < window || at-p.from < window); p.from-- {
		n += int(words[l.text[p.from-1]].shift / 8)
	}
	for {
		n := 0
		for p.to < len(l.text) && p.to-at < maxAround && (n < window || p.to-at < window) {
			n += int(words[l.text[p.to]].shift / 8)
			p.to++
		}
		if k++; k == len(l.seams) || l.seams[k] > p.to {
			return p, k
		}
		at = l.seams[k]
	}
}

// word says how a byte enters the two windows. shift and letter are 0 for a byte
// that is neither a letter nor a digit, so that it leaves the squeezed window as
// it is, without a branch.
type word struct{ folded, shift, letter uint8 }

var words = func() (w [256]word) {
	for c := range w {
		w[c].folded = folds[c]
		if f := folds[c]; f >= 'a' && f <= 'z' || f >= '0' && f <= '9' {
			w[c].shift, w[c].letter = 8, f
		}
	}
	return w
}()

// scanWindows calls check with each window in a part of a text that passes the
// filter, and with its end.
func (s *Set) scanWindows(text []byte, in part, check func(w uint64, end int, squeezed bool)) {
	// This loop runs for every byte of every answer: local copies spare it loads.
	const mask, full = 1<<(8*window) - 1, 8 * (window - 1)
	var (
		before, first = s.mix.before, s.mix.first
		bits          = s.filter
		last          = uint64(len(bits) - 1)
		w, v          uint64 // the last bytes, and the last letters and digits
	)
	for i := in.from; i < in.to; i += windows {
		c := &words[text[i]]
		w, v = w<<8|uint64(c.folded), v<<(c.shift&63)|uint64(c.letter)
		if i+1 < in.to {
			c = &words[text[i+1]]
			w, v = w<<8|uint64(c.folded), v<<(c.shift&63)|uint64(c.letter)
		}
		w, v = w&mask, v&mask
		h, g := (w^before)*first, (v^before)*first
		if bits[h>>40&last]&(1<<(h>>34&63)) == 0 && bits[g>>40&last]&(1<<(g>>34&63)) == 0 {
			continue
		}
		end := min(i+windows, in.to)
		if end-in.from >= window && s.filter.has(s.mix.of(w)) {
			check(w, end, false)
		}
		// Letters are no zeros: the window is full once its first byte is one.
		if v>>full != 0 && s.filter.has(s.mix.of(v)) {
			check(v, end, true)
		}
	}
}

// filter is a Bloom filter of the windows of all forms: most windows of a text
// fail it. Its length is a power of 2.
type filter []uint64

// newFilter returns a filter for n windows.
func newFilter(n int) filter {
	size := 1
	for size*64 < n*sparse {
		size *= 2
	}
	return make(filter, size)
}

func (f filter) has(h uint64) bool {
	return f[h>>40&uint64(len(f)-1)]&(1<<(h>>34&63)) != 0
}

func (f filter) add(h uint64) {
	f[h>>40&uint64(len(f)-1)] |= 1 << (h >> 34 & 63)
}

// mixer hashes windows with keys that no other process knows.
type mixer struct{ before, first, second uint64 }

func mixerOf(key [32]byte) mixer {
	return mixer{
		before: binary.LittleEndian.Uint64(key[:]), first: binary.LittleEndian.Uint64(key[8:]) | 1, second: binary.LittleEndian.Uint64(key[16:]) | 1,
	}
}

// quick returns a hash whose upper bits are good.
func (m mixer) quick(w uint64) uint64 { return (w ^ m.before) * m.first }

func (m mixer) of(w uint64) uint64 {
	w = m.quick(w)
	return (w ^ w>>29) * m.second
}
