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
	// squeezed says that the form is searched for in the squeezed text. See squeeze.
	squeezed bool
}

// forms returns the ways in which decoded text may hold a secret. A search ignores
// case, so it finds a secret in capitals. Base64 and hexadecimal have decoders, but
// they are forms too: a squeezed form matches also in groups, lines and pieces.
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

// stripEscapes decodes the parts of a secret that look like escapes, because a search decodes them too.
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

// distinct folds the forms, and drops duplicates and forms that are too short to be distinctive.
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

// inBase64Name is the name of the forms that inBase64 returns.
const inBase64Name = "base64"

// inBase64 returns the three forms that a secret inside of a longer text can have in
// base64, which encodes groups of 3 bytes. It leaves out the first and the last
// characters, because they depend on the bytes before and after the secret.
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

// wide returns text in UTF-16. low is the place of the low byte in each unit: 0 is
// little endian, 1 is big endian. It returns nil for text that is not UTF-8.
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
// items is contiguous again. If from is not nil, squeeze appends the place in text of each byte that it keeps.
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
