package fingerprint

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// written is one way in which a secret may be written.
type written struct {
	name string
	text []byte
	// squeezed is looked for among letters and digits alone.
	squeezed bool
}

// forms returns the ways in which decoded text may hold a secret. Upper and lower
// case are one, so a secret in capitals is found. Base64 and hexadecimal are forms
// too, beside their decoders: squeezed, they match in groups, lines and pieces.
func forms(secret []byte) []written {
	found := []written{
		{name: "plain", text: secret},
		{name: "reversed", text: reversed(secret)},
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		found = append(found, inBase64(secret, encoding)...)
	}
	found = append(found, written{name: "hex", text: []byte(hex.EncodeToString(secret))})
	for _, w := range found[:len(found):len(found)] {
		w.text, w.squeezed = squeeze(w.text, nil), true
		found = append(found, w)
	}
	// A search decodes what looks like an escape, even within a secret.
	if bare := stripEscapes(secret); IsDistinctive(bare) {
		found = append(found, written{name: "plain", text: bare}, written{name: "reversed", text: reversed(bare)})
	}
	return distinct(append(found, written{name: "utf-16", text: wide(string(secret), 0)}, written{name: "utf-16", text: wide(string(secret), 1)}))
}

// stripEscapes returns a secret as a search decodes it.
func stripEscapes(secret []byte) []byte {
	for range maxDepth {
		out := &layer{}
		if !decodeEscapes(hasEscapes, true)(&layer{text: secret}, out) {
			break
		}
		secret = out.text
	}
	return secret
}

// distinct leaves one of each, folded, of those that are long enough to mean something.
func distinct(found []written) (left []written) {
	seen := make(map[string]bool, len(found))
	for _, w := range found {
		w.text = fold(w.text)
		least := MinLength
		if w.squeezed {
			least = minSqueezed
		}
		key := string(w.text) + strconv.FormatBool(w.squeezed)
		if len(w.text) < least || seen[key] {
			continue
		}
		seen[key] = true
		left = append(left, w)
	}
	return left
}

// inBase64Name is what the forms of inBase64 are called.
const inBase64Name = "base64"

// inBase64 is a secret in base64 wherever in a longer text it begins. The first
// and the last characters depend on the neighbours, and are left out.
func inBase64(secret []byte, encoding *base64.Encoding) (found []written) {
	for shift := range 3 {
		text := encoding.EncodeToString(append(make([]byte, shift), secret...))
		whole := (shift + len(secret)) * 8 / 6
		found = append(found, written{name: inBase64Name, text: []byte(text[[]int{0, 2, 3}[shift]:whole])})
	}
	return found
}

func reversed(secret []byte) []byte {
	backwards := bytes.Clone(secret)
	slices.Reverse(backwards)
	return backwards
}

// wide is text in UTF-16 with the low byte of each unit at this place: 0 is
// little endian. Bytes that are no UTF-8 have no such form.
func wide(text string, low int) []byte {
	if !utf8.ValidString(text) {
		return nil
	}
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		pair := [2]byte{}
		pair[low], pair[1-low] = byte(u), byte(u>>8)
		b = append(b, pair[:]...)
	}
	return b
}

// squeeze keeps letters and digits, folded, so that a form that is split over lines, groups or list
// items is contiguous again. If from is not nil, it gets the place of each byte that was kept.
func squeeze(text []byte, from *[]int) []byte {
	left := make([]byte, 0, len(text))
	for i, c := range text {
		if classes[c]&isLetter != 0 {
			left = append(left, folds[c])
			if from != nil {
				*from = append(*from, i)
			}
		}
	}
	return left
}

func fold(text []byte) []byte {
	out := make([]byte, len(text))
	for i, c := range text {
		out[i] = folds[c]
	}
	return out
}
