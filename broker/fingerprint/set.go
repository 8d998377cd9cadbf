package fingerprint

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
)

const (
	// MinLength is the shortest secret that is looked for, in bytes. Shorter secrets occur in
	// ordinary text too often.
	MinLength = 8
	// minDistinct is the least number of different bytes in a secret. A text with fewer, such as a
	// row of zeros, occurs in ordinary text too often.
	minDistinct = 4
	// minSqueezed is the least number of letters and digits of a form that is searched for
	// regardless of the characters between them.
	minSqueezed = 12
	// window is the number of bytes of a form that are compared before the whole form is. A form
	// has two windows, one byte apart, so that a scan needs to test only every second position of a
	// text.
	window, windows = 7, 2
	// sparse is the least number of bits of the filter for each window.
	sparse = 32
)

// ErrPlain refuses a secret that is too short or too uniform to be distinguished from other text.
var ErrPlain = errors.New("too short or too uniform to be told from other text")

// Match says that a secret was found, and how it was written.
type Match struct {
	// Label names the secret. It is the label that Add got.
	Label string
	// Form says how the secret was written, such as "base64 of hex": the names of the encodings
	// around the secret, outermost first, as in the table of decoders, and the form itself: plain,
	// reversed, utf-16, base64 or hex. It ends with " in pieces" if something was between the parts
	// of the secret.
	Form string
}

// Set holds the fingerprints of many secrets, and searches for all of them at once. The
// zero value is empty and ready. It may be used by many goroutines.
type Set struct {
	mu sync.RWMutex
	// labels has the secrets by their labels.
	labels map[string]*entry
	// by finds forms by the hash of a window in their middle, because many secrets share a
	// beginning, such as the header of a PEM file or the prefix of a provider's tokens.
	by     map[uint64][]anchor
	filter filter
	// n counts windows, and layered the secrets for which escapes have to be decoded
	// one layer at a time.
	n, layered int
	key        [32]byte
	mix        mixer
	// base is random, so that nobody can choose texts with equal sums. See sumOf.
	base uint64
}

type entry struct {
	added   int
	layered bool
	forms   []*form
}

// form is one of the forms of a secret. It has digests in place of the text.
type form struct {
	label, name string
	squeezed    bool
	length      int
	anchors     [windows]anchor
	all         [sha256.Size]byte
	// sum is the end of the sum of the form: enough to pass over other texts without a digest, and too
	// little to tell the form.
	sum uint16
}

// anchor is a window of a form.
type anchor struct {
	form *form
	// at is where in the form it begins.
	at int
	// hash is the hash of the window's bytes.
	hash uint64
}

// Add searches for a secret from now on, under a label that may be shown. It keeps no reference to
// the secret. A secret that was added twice must be removed twice. A label names one secret: if Add
// gets a label again, the first secret stays. A secret that is not distinctive is refused with
// ErrPlain.
func (s *Set) Add(label string, secret []byte) error {
	if !IsDistinctive(secret) {
		return fmt.Errorf("fingerprint: secret %q is %w: %d bytes, of which %d differ, are needed", label, ErrPlain, MinLength, minDistinct)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.labels == nil {
		s.labels, s.by = make(map[string]*entry), make(map[uint64][]anchor)
		_, _ = rand.Read(s.key[:]) // never fails
		s.mix = newMixer(s.key)
		var base [8]byte
		_, _ = rand.Read(base[:])
		s.base = reduce(binary.LittleEndian.Uint64(base[:]))
	}
	if e := s.labels[label]; e != nil {
		e.added++
		return nil
	}
	e := &entry{added: 1, layered: isLayered(secret)}
	if e.layered {
		s.layered++
	}
	for _, w := range forms(secret) {
		f := &form{label: label, name: w.name, squeezed: w.squeezed, length: len(w.text), all: s.digest(w.text)}
		sum, _ := sumOf(w.text, s.base)
		f.sum = uint16(sum)
		for i := range f.anchors {
			at := (len(w.text)-MinLength)/2 + i
			f.anchors[i] = anchor{f, at, s.mix.of(w.text[at:])}
			s.by[f.anchors[i].hash] = append(s.by[f.anchors[i].hash], f.anchors[i])
		}
		clear(w.text)
		e.forms = append(e.forms, f)
	}
	s.labels[label] = e
	if s.n += windows * len(e.forms); len(s.filter)*64 < s.n*sparse {
		s.filter = newFilter(2 * s.n)
		for _, known := range s.labels {
			s.mark(known)
		}
	}
	s.mark(e)
	return nil
}

// IsDistinctive reports whether a secret is long and varied enough to be recognized in other text. Add refuses other secrets with ErrPlain.
func IsDistinctive(secret []byte) bool {
	return len(secret) >= MinLength && different(secret) >= minDistinct
}

// Remove undoes one Add of the label.
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
	if e.layered {
		s.layered--
	}
	s.n -= windows * len(e.forms)
	for _, f := range e.forms {
		for _, a := range f.anchors {
			left := slices.DeleteFunc(s.by[a.hash], func(other anchor) bool { return other == a })
			if s.by[a.hash] = left; len(left) == 0 {
				delete(s.by, a.hash)
			}
		}
	}
}

// needsSteps reports whether escapes have to be decoded one layer at a time.
func (s *Set) needsSteps() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.layered > 0
}

// isLayered reports whether decoding all layers of escapes at once may destroy every window of a
// secret: the secret has too few letters and digits to be found by these alone, or it contains text
// at its windows that looks like an escape.
func isLayered(secret []byte) bool {
	var at []int
	letters := squeeze(secret, &at)
	if len(letters) < minSqueezed {
		return true
	}
	middle := (len(letters) - MinLength) / 2
	around := secret[max(0, at[middle]-maxEntity):min(len(secret), at[middle+MinLength-1]+maxEntity)]
	return !bytes.Equal(stripEscapes(around), around)
}

// Len is how many secrets are looked for.
func (s *Set) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.labels)
}

func (s *Set) mark(e *entry) {
	for _, f := range e.forms {
		for _, a := range f.anchors {
			s.filter.add(a.hash)
		}
	}
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
