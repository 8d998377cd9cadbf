package fingerprint

import (
	"bytes"
	"slices"
	"testing"

	"github.com/pawl-run/pawl/broker/fingerprint/fingerprinttest"
)

// TestEveryForm writes every secret in every encoding: it is found and taken out, and no other is found.
func TestEveryForm(t *testing.T) {
	t.Parallel()
	secrets, s, n := shapes(), all(t), 0
	for _, e := range fingerprinttest.Encodings() {
		for label, secret := range secrets {
			if !e.Takes(secret) {
				continue
			}
			n++
			text := e.Encode(secret)
			if got := s.labelled(t, text); len(got) != 1 || got[0] != label {
				t.Errorf("%s as %s: found %q in %q", label, e.Name, got, text)
				continue
			}
			clean := s.Redact(text)
			if len(s.FindString(clean)) > 0 || s.Redact(clean) != clean || clean == text {
				t.Errorf("%s as %s: redacted as %q", label, e.Name, clean)
			}
		}
	}
	if n < 3000 {
		t.Errorf("%d pairs were tried", n)
	}
}

// TestTrackedLayers: a layer with the origins of its bytes has the same text as one without, which takes shortcuts.
func TestTrackedLayers(t *testing.T) {
	t.Parallel()
	texts := hostile()
	for name, text := range results(t) {
		texts[name] = text
	}
	for _, e := range fingerprinttest.Encodings() {
		texts[e.Name] = []byte(e.Encode(shapes()["random"]) + e.Encode(e.Encode(`C:\new\"&amp;%2541`)))
	}
	for name, text := range texts {
		for _, known := range decoders {
			plain, tracked := &layer{}, &layer{tracked: true}
			known.decode(&layer{text: text, whole: true}, plain)
			known.decode(&layer{text: text, whole: true}, tracked)
			if !bytes.Equal(plain.text, tracked.text) || !slices.Equal(plain.seams, tracked.seams) || len(tracked.from) != len(tracked.text) {
				t.Errorf("%s, %s: %d bytes become %d, and %d with origins", name, known.name, len(text), len(plain.text), len(tracked.text))
			}
		}
	}
}
