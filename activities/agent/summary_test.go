package agent

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/broker/fingerprint"
)

// TestReadSummary: a summary is stored without credentials, and no longer than its bound.
func TestReadSummary(t *testing.T) {
	t.Parallel()
	const canary = "sk-canary-5f1de5a2c84b4d9f"
	a := &Agents{Secrets: new(fingerprint.Set)}
	if err := a.Secrets.Add("key", []byte(canary)); err != nil {
		t.Fatal(err)
	}
	text, clean := a.readSummary("  The key is "+canary+"\x1b[31m of ann.", 1000)
	if !clean || strings.Contains(text, canary) || strings.Contains(text, "\x1b") || !strings.HasPrefix(text, "The key is ") || !strings.HasSuffix(text, " of ann.") {
		t.Errorf("the summary is %q, clean %t", text, clean)
	}
	if text, _ = a.readSummary(strings.Repeat("é", 1000), 100); len(text) > 100 || len(text) < 50 {
		t.Errorf("the summary has %d bytes", len(text))
	}
}
