package fingerprint

import (
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
