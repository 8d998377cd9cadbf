package turn

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/broker/fingerprint"
)

// TestCleaner: a credential is not shown however the text is cut into parts, and the text around it is. Without credentials each part is shown at once.
func TestCleaner(t *testing.T) {
	t.Parallel()
	const key = "sk-canary-0b7d55e1f9"
	secrets := &fingerprint.Set{}
	if err := secrets.Add("key", []byte(key)); err != nil {
		t.Fatal(err)
	}
	text := "you ask with " + key + " as yöur key, " + strings.Repeat("x", 3*maxWord) + key + "yy end"
	want := strings.ReplaceAll(text, key, redacted)
	for size := 1; size < len(text); size += 1 + size/8 {
		c, shown := cleaner{secrets: secrets}, ""
		for at := 0; at < len(text); at += size {
			end := min(at+size, len(text))
			shown += c.push(text[at:end], end == len(text))
		}
		if shown != want {
			t.Fatalf("in parts of %d bytes %q is shown", size, strings.ReplaceAll(shown, "xxxx", ""))
		}
	}
	c := cleaner{secrets: secrets}
	if got := c.push("you ask with sk-canary", false); got != "you ask with " {
		t.Errorf("%q is shown", got)
	}
	if got := c.push("-0b7d55e1f9", false) + c.push(" x", true); got != redacted+" x" {
		t.Errorf("then %q is shown", got)
	}
	if got := (&cleaner{secrets: &fingerprint.Set{}}).push("word", false); got != "word" {
		t.Errorf("without credentials %q is shown", got)
	}
}
