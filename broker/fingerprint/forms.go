package fingerprint

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
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

// forms are the ways in which a secret may be written, each once. Upper and
// lower case are one, so both spellings of hexadecimal and of escapes are here,
// and a secret that somebody put into capitals.
func forms(secret []byte) []written {
	text := string(secret)
	found := []written{
		{name: "plain", text: secret},
		{name: "reversed", text: reversed(secret)},
		{name: "hex", text: []byte(hex.EncodeToString(secret))},
		{name: "url", text: []byte(url.QueryEscape(text))},
		{name: "url", text: []byte(url.PathEscape(text))},
		{name: "url", text: each(secret, "", "%%%02x")},
		{name: "json", text: jsonText(text, false)},
		{name: "json", text: jsonText(text, true)},
		{name: "json", text: bytes.ReplaceAll(jsonText(text, false), []byte("/"), []byte(`\/`))},
		{name: "json", text: jsonText(string(jsonText(text, false)), false)},
		{name: "json", text: jsonText(string(jsonText(text, true)), true)},
		{name: "json", text: codeUnits(text)},
		{name: "quoted", text: []byte(strings.Trim(strconv.Quote(text), `"`))},
		{name: "quoted", text: []byte(strings.Trim(strconv.QuoteToASCII(text), `"`))},
		{name: "html", text: []byte(html.EscapeString(text))},
		{name: "utf-16", text: wide(text, 0)},
		{name: "utf-16", text: wide(text, 1)},
		{name: "decimal", text: each(secret, " ", "%d")},
		{name: "decimal", text: each(secret, ",", "%d")},
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		found = append(found, inBase64(secret, encoding)...)
	}
	for _, w := range found[:len(found):len(found)] {
		// The rest of the forms differ from these by punctuation alone, or grow by
		// letters of their own.
		if slices.Contains([]string{"plain", "reversed", "hex", "base64"}, w.name) {
			w.text, w.squeezed = squeeze(w.text, nil), true
			found = append(found, w)
		}
	}
	return distinct(found)
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

// inBase64 is a secret in base64 wherever in a longer text it begins. The first
// and the last characters depend on the neighbours, and are left out.
func inBase64(secret []byte, encoding *base64.Encoding) (found []written) {
	for shift := range 3 {
		text := encoding.EncodeToString(append(make([]byte, shift), secret...))
		whole := (shift + len(secret)) * 8 / 6
		found = append(found, written{name: "base64", text: []byte(text[[]int{0, 2, 3}[shift]:whole])})
	}
	return found
}

func reversed(secret []byte) []byte {
	backwards := bytes.Clone(secret)
	slices.Reverse(backwards)
	return backwards
}

func each(secret []byte, separator, format string) []byte {
	var b bytes.Buffer
	for i, c := range secret {
		if i > 0 {
			b.WriteString(separator)
		}
		fmt.Fprintf(&b, format, c)
	}
	return b.Bytes()
}

// jsonText is the inside of a JSON string; with escapeHTML as Go's encoder writes it by default.
func jsonText(text string, escapeHTML bool) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(escapeHTML)
	if err := encoder.Encode(text); err != nil {
		return nil
	}
	return bytes.TrimPrefix(bytes.TrimSuffix(b.Bytes(), []byte("\"\n")), []byte(`"`))
}

// codeUnits writes every character as \u00xx.
func codeUnits(text string) []byte {
	var b bytes.Buffer
	for _, u := range utf16.Encode([]rune(text)) {
		fmt.Fprintf(&b, `\u%04x`, u)
	}
	return b.Bytes()
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

// squeeze leaves letters and digits, folded: what stands in lines, in groups or
// in the items of a list is whole again. Where from is given, it gets the place
// of each byte that was left.
func squeeze(text []byte, from *[]int) []byte {
	left := make([]byte, 0, len(text))
	for i, c := range text {
		if c = folded(c); c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			left = append(left, c)
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
		out[i] = folded(c)
	}
	return out
}

func folded(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
