package toolspec_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

// TestNumbersInAStream: a number is masked within a line of a stream. In a value, it may go on in the next line.
func TestNumbersInAStream(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name         string
		with         toolspec.Masker
		text, stream string
		value        string
	}{
		{"a column", toolspec.MaskPhone, "total\n123\n456\n789\n", "total\n123\n456\n789\n", "total\n***\n"},
		{"phones", toolspec.MaskPhone, "a 555-123-4567\r\n+49 (0)30 1234-567\n", "a ***\r\n***\n", "a ***\r\n***\n"},
		{"a card in a line", toolspec.MaskCard, "4111 1111 1111 1111\nno", "***\nno", "***\nno"},
		{"a card in two lines", toolspec.MaskCard, "4111 1111\n1111 1111\n", "4111 1111\n1111 1111\n", "***\n"},
		{"an IBAN in two lines", toolspec.MaskIBAN, "DE89 3704 0044\n0532 0130 00\n", "DE89 3704 0044\n0532 0130 00\n", "***\n"},
		{"a pattern in two lines", toolspec.MaskRegex(`begin\s+end`), "begin\nend\n", "***\n", "***\n"},
	} {
		masker, err := toolspec.Redaction{MaskStream: []toolspec.Masker{tc.with}}.Stream()
		if err != nil {
			t.Fatal(err)
		}
		if got, rest, err := masker.Mask([]byte(tc.text), true); got != tc.stream || len(rest) > 0 || err != nil {
			t.Errorf("%s: the stream has %q and %q (%v), want %q", tc.name, got, rest, err, tc.stream)
		}
		text, err := json.Marshal(tc.text)
		if err != nil {
			t.Fatal(err)
		}
		var value string
		got, err := toolspec.Redaction{Allow: []string{""}, MaskOutput: []toolspec.Masking{{With: tc.with}}}.Output(text)
		if err != nil || json.Unmarshal(got, &value) != nil || value != tc.value {
			t.Errorf("%s: the value is %q (%v), want %q", tc.name, value, err, tc.value)
		}
	}
}

// TestAColumnIsNoLongMatch: a stream of numbers below each other is cut at the end of a line.
func TestAColumnIsNoLongMatch(t *testing.T) {
	t.Parallel()
	for _, with := range []toolspec.Masker{toolspec.MaskPhone, toolspec.MaskCard, toolspec.MaskIBAN} {
		masker, err := toolspec.Redaction{MaskStream: []toolspec.Masker{with}}.Stream()
		if err != nil {
			t.Fatal(err)
		}
		column := strings.Repeat("DE12\n", 5) + strings.Repeat("12345\n", 60_000)
		masked, rest, err := masker.Mask([]byte(column), false)
		if err != nil || masked+string(rest) != column || len(rest) > 8<<10 || !strings.HasSuffix(masked, "\n") {
			t.Errorf("%s: %d bytes and a rest of %d, %v", with, len(masked), len(rest), err)
		}
	}
}
