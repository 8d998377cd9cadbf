package fingerprint

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
)

const (
	// MinLength is the shortest secret that is looked for, in bytes. Shorter ones
	// stand in innocent text too often.
	MinLength = 8
	// minDistinct is how many different bytes a secret has at least, for the same
	// reason: a row of zeros is none.
	minDistinct = 4
	// minSqueezed is how many letters and digits a form has at least that is
	// looked for regardless of what stands between them.
	minSqueezed = 12
	// window is how many bytes of a form are compared before all of them are.
	window = 8
	// sparse is how many bits of the filter there are for each form.
	sparse = 16
)

// ErrPlain refuses a secret that is too short or too uniform to be told from
// other text.
var ErrPlain = errors.New("too short or too uniform to be told from other text")

// Match says that a secret was found, and how it was written.
type Match struct {
	// Label names the secret, as Add was told.
	Label string
	// Form is the way it was written: plain, base64, hex, url, json, quoted,
	// html, utf-16, decimal or reversed; with " in pieces" where something stood
	// between its parts.
	Form string
}

// Set is what is looked for: fingerprints of many secrets, all at once. The zero
// value is empty and ready. It may be used by many goroutines.
type Set struct {
	mu sync.RWMutex
	// labels count how often each was added.
	labels map[string]*entry
	// by finds forms by a digest of the bytes in their middle: beginnings such as
	// those of a PEM file or a token of one provider are shared by many.
	by map[uint64][]*form
	// bits are a filter before by: most windows are of no form.
	bits []uint64
	n    int
	key  [32]byte
	mix  mixer
}

type entry struct {
	added int
	forms []*form
}

// form is a way of writing a secret, as digests.
type form struct {
	label, name string
	squeezed    bool
	// at is where in the form its window begins.
	at, length int
	middle     uint64
	all        [sha256.Size]byte
}

// Add looks for a secret from now on, under a label that may be shown. It keeps
// no reference to the secret. What was added twice must be removed twice; under
// one label there is one secret, and the first one stays.
func (s *Set) Add(label string, secret []byte) error {
	if !Tells(secret) {
		return fmt.Errorf("fingerprint: secret %q is %w: %d bytes, of which %d differ, are needed", label, ErrPlain, MinLength, minDistinct)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.labels == nil {
		s.labels, s.by = make(map[string]*entry), make(map[uint64][]*form)
		_, _ = rand.Read(s.key[:]) // never fails
		s.mix = mixerOf(s.key)
	}
	if e := s.labels[label]; e != nil {
		e.added++
		return nil
	}
	e := &entry{added: 1}
	for _, w := range forms(secret) {
		f := &form{label: label, name: w.name, squeezed: w.squeezed, at: (len(w.text) - window) / 2, length: len(w.text)}
		f.middle, f.all = s.mix.of(binary.BigEndian.Uint64(w.text[f.at:])), s.digest(w.text)
		clear(w.text)
		e.forms = append(e.forms, f)
		s.by[f.middle] = append(s.by[f.middle], f)
	}
	s.labels[label] = e
	if s.n += len(e.forms); len(s.bits)*64 < s.n*sparse {
		s.bits = make([]uint64, ceilPower(2*s.n*sparse/64+1))
		for middle := range s.by {
			s.mark(middle)
		}
	}
	for _, f := range e.forms {
		s.mark(f.middle)
	}
	return nil
}

// Tells says that a secret can be told from other text: Add takes it.
func Tells(secret []byte) bool {
	return len(secret) >= MinLength && different(secret) >= minDistinct
}

// Remove ends what one Add of the label began.
func (s *Set) Remove(label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.labels[label]
	if e == nil {
		return
	}
	if e.added--; e.added > 0 {
		return
	}
	delete(s.labels, label)
	s.n -= len(e.forms)
	for _, f := range e.forms {
		left := slices.DeleteFunc(s.by[f.middle], func(other *form) bool { return other == f })
		if s.by[f.middle] = left; len(left) == 0 {
			delete(s.by, f.middle)
		}
	}
}

// Len is how many secrets are looked for.
func (s *Set) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.labels)
}

// span is where a form stands in a text.
type span struct {
	from, to int
	form     *form
}

// spans calls found with each place where a form stands. text is as it is, or
// squeezed.
func (s *Set) spans(text []byte, squeezed bool, found func(span)) {
	if len(text) < window {
		return
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.by) == 0 {
		return
	}
	// The loop runs for every byte of every answer: what it needs lies beside it.
	mix, bits := s.mix, s.bits
	var w uint64
	for i, c := range text {
		w = w<<8 | uint64(folded(c))
		if i < window-1 {
			continue
		}
		middle := mix.of(w)
		if !marked(bits, middle) {
			continue
		}
		for _, f := range s.by[middle] {
			from := i - (window - 1) - f.at
			if f.squeezed == squeezed && from >= 0 && from+f.length <= len(text) && s.digest(fold(text[from:from+f.length])) == f.all {
				found(span{from, from + f.length, f})
			}
		}
	}
}

// mixer spreads a window over all bits; nobody outside knows how.
type mixer struct{ add, first, second uint64 }

func mixerOf(key [32]byte) mixer {
	return mixer{
		add: binary.LittleEndian.Uint64(key[:]), first: binary.LittleEndian.Uint64(key[8:]) | 1, second: binary.LittleEndian.Uint64(key[16:]) | 1,
	}
}

func (m mixer) of(w uint64) uint64 {
	w = (w ^ m.add) * m.first
	return (w ^ w>>29) * m.second
}

func (s *Set) mark(middle uint64) {
	s.bits[middle>>40&uint64(len(s.bits)-1)] |= 1 << (middle >> 34 & 63)
}

func marked(bits []uint64, middle uint64) bool {
	return bits[middle>>40&uint64(len(bits)-1)]&(1<<(middle>>34&63)) != 0
}

func (s *Set) digest(text []byte) [sha256.Size]byte {
	keyed := make([]byte, 0, len(s.key)+len(text))
	keyed = append(append(keyed, s.key[:]...), text...)
	defer clear(keyed)
	return sha256.Sum256(keyed)
}

func different(secret []byte) int {
	var seen [256]bool
	n := 0
	for _, c := range secret {
		if !seen[c] {
			seen[c], n = true, n+1
		}
	}
	return n
}

func ceilPower(n int) int {
	power := 1
	for power < n {
		power *= 2
	}
	return power
}
