package fingerprint

import "math/bits"

// walk follows one window of a form through a text. A text can have the window at every second position, as a
// row of one letter has, and to read the whole form at each position would take too long. A walk keeps a sum of
// as many bytes as the form has. To move the sum takes one step for each byte between two positions.
type walk struct {
	form *form
	// from is the offset of the bytes of sum, and -1 before the first position.
	from int
	sum  uint64
	// power is base to the power of the length of the form.
	power uint64
	// found is where the form was found last, and -1 if it was not found yet.
	found int
	// period is the least distance between two places of the form that overlap, and 0 if no places overlap.
	// The form repeats itself after that many bytes.
	period int
}

func newWalk(f *form) *walk { return &walk{form: f, from: -1, found: -1} }

// matches reports whether the form of a walk is at from in a text.
func (s *Set) matches(w *walk, text []byte, from int) bool {
	f, end := w.form, from+w.form.length
	if w.moveTo(text, from, s.base); w.sum&0xffff != uint64(f.sum) {
		return false
	}
	moved := from - w.found
	overlaps := w.found >= 0 && moved > 0 && moved <= f.length
	if overlaps && w.period > 0 && moved%w.period == 0 {
		// The last bytes of the form repeat the bytes in front of them. The other bytes of this place belong to the
		// last place too.
		if !equalFolded(text[end-moved:end], text[end-2*moved:end-moved]) {
			return false
		}
	} else if s.digest(fold(text[from:end])) != f.all {
		return false
	}
	if overlaps && (w.period == 0 || moved < w.period) {
		w.period = moved
	}
	w.found = from
	return true
}

// moveTo makes sum the sum of the bytes of text from an offset on.
func (w *walk) moveTo(text []byte, from int, base uint64) {
	length := w.form.length
	if w.from < 0 || from < w.from || from-w.from >= length {
		w.from = from
		w.sum, w.power = sumOf(text[from:from+length], base)
		return
	}
	for ; w.from < from; w.from++ {
		first, next := folds[text[w.from]], folds[text[w.from+length]]
		w.sum = reduce(multiply(w.sum, base) + uint64(next) + prime - multiply(uint64(first), w.power))
	}
}

// prime is the modulus of sums.
const prime = 1<<61 - 1

// sumOf returns the value of a polynomial whose coefficients are the folded bytes of a text, and
// base to the power of their number.
func sumOf(text []byte, base uint64) (sum, power uint64) {
	power = 1
	for _, c := range text {
		sum, power = reduce(multiply(sum, base)+uint64(folds[c])), multiply(power, base)
	}
	return sum, power
}

func multiply(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return reduce((high<<3 | low>>61) + low&prime)
}

// reduce returns a number modulo prime.
func reduce(n uint64) uint64 {
	if n = n&prime + n>>61; n >= prime {
		n -= prime
	}
	return n
}

func equalFolded(a, b []byte) bool {
	for i, c := range a {
		if folds[c] != folds[b[i]] {
			return false
		}
	}
	return true
}
