package fingerprint

import (
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/broker/fingerprint/fingerprinttest"
)

// FuzzEncodings writes a secret in one encoding, and the text around it in another: it is found and taken out, once for all.
func FuzzEncodings(f *testing.F) {
	encodings := fingerprinttest.Encodings()
	shell := uint8(slices.IndexFunc(encodings, func(e fingerprinttest.Encoding) bool { return e.Name == "shell" }))
	for e := range encodings {
		for i, secret := range []string{"aB3$xY7!kq", "p9+Qz/7=xW&k<2>m'V\"t`8{r}", "x9&lt;Qz=4%2Bk&amp;7Rm"} {
			f.Add(secret, "before", "after", uint8(e), uint8(e*7+i*31))
		}
	}
	for e := range encodings {
		f.Add("0000%012", "0", "0", uint8(e), uint8(0)) // it means six bytes
		f.Add("0000%00000!0!1", "0", "0", uint8(e), shell)
		f.Add("00000%010&amp000001", "0", "0", uint8(e), shell)
		f.Add("00\"00012", "0", "0", uint8(e), shell)
	}
	for first, wide := range encodings {
		if strings.HasPrefix(wide.Name, "UTF-16") {
			for second := range encodings { // some of them replace zeros
				f.Add("00000127", "0", "0", uint8(first), uint8(second))
			}
		}
	}
	f.Fuzz(func(t *testing.T, secret, before, after string, first, second uint8) {
		inner, outer := encodings[int(first)%len(encodings)], encodings[int(second)%len(encodings)]
		s := &Set{}
		// Of how much of a secret stands together the fuzzer knows too little, so it leaves out encodings that need that.
		if !likeSecret(secret) || inner.Least > 0 || !inner.Takes(secret) || s.Add("it", []byte(secret)) != nil {
			return
		}
		text := fenced(before, after, inner.Encode(secret))
		twice := ""
		if outer.Takes(text) && !outer.Tears && !inner.Tears {
			twice = fenced(before, after, outer.Encode(text))
		}
		for _, text := range []string{text, twice} {
			if text == "" {
				continue
			}
			if m := s.FindString(text); len(m) != 1 {
				t.Fatalf("%s in %s: found %v in %q", inner.Name, outer.Name, m, text)
			}
			if clean := s.Redact(text); s.Redact(clean) != clean || len(s.FindString(clean)) > 0 {
				t.Fatalf("%s in %s: %q is left of %q", inner.Name, outer.Name, clean, text)
			}
		}
	})
}

// fenced puts a text between others. A space keeps apart what would be another
// escape, or another word of a list, together; and a quotation mark in front that
// nothing closes would turn the strings behind it inside out.
func fenced(before, after, text string) string {
	return strings.ReplaceAll(strings.TrimRight(before, `\&%`), `"`, "'") + " . " + text + " . " + after
}

// likeSecret says that a secret is of printable characters. One with a backslash may look like an escape within an escape, and then what
// it is below two encodings is not certain; TestEveryEncoding has two of them below one.
func likeSecret(secret string) bool {
	return !strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' })
}
