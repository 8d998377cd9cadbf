package jsonschema

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

// TestRefusals: a document that would be evaluated differently than its author means is refused at
// registration. The message has the place and the reason.
func TestRefusals(t *testing.T) {
	const file = "testdata/refusals.txt"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := append(strings.Split(strings.TrimRight(string(raw), "\n"), "\n"), "")
	for i := 0; i+1 < len(lines); i += 3 {
		_, err := Compile(json.RawMessage(lines[i]))
		var refusal *Refusal
		if !errors.As(err, &refusal) {
			t.Errorf("%s: got %v", lines[i], err)
			continue
		}
		if *update {
			lines[i+1] = "  " + err.Error()
		}
		if "  "+err.Error() != lines[i+1] {
			t.Errorf("%s:\n got %s\nwant %s", lines[i], err, lines[i+1])
		}
	}
	if n := len(lines) / 3; n < 40 {
		t.Errorf("%d refusals", n)
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
