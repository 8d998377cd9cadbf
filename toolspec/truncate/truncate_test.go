package truncate_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/truncate"
)

// TestLimits shows each content at its limit and above it (RF-05 to RF-08, RF-11).
func TestLimits(t *testing.T) {
	t.Parallel()
	list := func(n int) any { return make([]int, n) }
	for name, tc := range map[string]struct {
		as           toolspec.Content
		at, above    any
		kind         toolspec.ValueKind
		begins, ends string
		count        int
	}{
		"file":    {toolspec.FileContents, strings.Repeat("a", 10240), strings.Repeat("a", 10241), toolspec.KindText, strings.Repeat("a", 5120) + "\n... [truncated]", "ref_id ref", 0},
		"runes":   {toolspec.FileContents, strings.Repeat("é", 5120), strings.Repeat("é", 5120) + "x", toolspec.KindText, strings.Repeat("é", 2560) + "\n... [truncated]", "ref_id ref", 0},
		"lines":   {toolspec.FileContents, "", "a" + strings.Repeat("bcd\n", 3000), toolspec.KindText, "abcd\n", "ref_id ref", 0},
		"shell":   {toolspec.ShellOutput, strings.Repeat("a", 10240), strings.Repeat("a", 10000) + "é" + strings.Repeat("z", 5119), toolspec.KindText, "... [truncated]", "\n" + strings.Repeat("z", 5119), 0},
		"listing": {toolspec.Listing, list(1000), list(1001), toolspec.KindJSON, `{"preview":[0,`, `ref_id ref"}`, 500},
		"search":  {toolspec.SearchResults, list(100), list(101), toolspec.KindJSON, `{"preview":[0,`, `ref_id ref"}`, 50},
	} {
		value := func(v any) truncate.Value {
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return truncate.Value{JSON: text, Kind: tc.kind, Contents: []toolspec.Truncation{{As: tc.as}}, Most: toolspec.MaxInline}
		}
		if value(tc.at).Exceeds() || !value(tc.above).Exceeds() {
			t.Errorf("%s: the limit is not where it must be", name)
		}
		short := value(tc.above).Short("ref")
		text := string(short)
		if tc.kind == toolspec.KindText && json.Unmarshal(short, &text) != nil {
			t.Errorf("%s is no text", name)
		}
		if !strings.HasPrefix(text, tc.begins) || !strings.HasSuffix(text, tc.ends) || !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
			t.Errorf("%s is %.60s ... %s", name, text, text[max(len(text)-60, 0):])
		}
		var p struct {
			Preview []int
			Count   int
		}
		if tc.count > 0 && (json.Unmarshal(short, &p) != nil || len(p.Preview) != tc.count || p.Count != tc.count*2+1) {
			t.Errorf("%s shows %d of %d", name, len(p.Preview), p.Count)
		}
	}
}

// TestShortParts shows that the data of the largest part goes first.
func TestShortParts(t *testing.T) {
	t.Parallel()
	image := func(n int) toolspec.Part {
		return toolspec.Part{Type: toolspec.PartImage, MediaType: "image/png", Data: make([]byte, n)}
	}
	raw, err := json.Marshal(toolspec.Parts{{Type: toolspec.PartText, Text: "a"}, image(100 << 10), image(100)})
	if err != nil {
		t.Fatal(err)
	}
	v := truncate.Value{JSON: raw, Kind: toolspec.KindParts, Most: toolspec.MaxInline}
	var parts toolspec.Parts
	if err := json.Unmarshal(v.Short("ref"), &parts); err != nil || len(parts) != 4 || parts[0].Text != "a" || parts[1].Data != nil ||
		parts[1].Bytes != 100<<10 || len(parts[2].Data) != 100 || !strings.HasPrefix(parts[3].Text, truncate.Marker) {
		t.Errorf("got %+v, %v", parts, err)
	}
}
