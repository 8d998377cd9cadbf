package truncate_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/truncate"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

// sized returns a text of n bytes from the end of pattern, repeated, so that it ends as pattern does. It
// begins with as many x as a whole character needs.
func sized(pattern string, n int) string {
	text := strings.Repeat(pattern, n/len(pattern)+1)
	text = text[len(text)-n:]
	start := 0
	for !utf8.RuneStart(text[start]) {
		start++
	}
	return strings.Repeat("x", start) + text[start:]
}

// encoded returns the JSON of v, as redaction leaves it.
func encoded(t *testing.T, v any) json.RawMessage {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// jsonText returns the text whose JSON has n bytes.
func jsonText(pattern string, n int) string { return sized(pattern, n-len(`""`)) }

// filled returns the value that build makes of a text, in n bytes of JSON.
func filled(t *testing.T, n int, build func(text string) any) any {
	t.Helper()
	return build(sized("€", n-len(encoded(t, build("x")))+1))
}

// TestGolden writes the short form of each kind and content below, at and above its limit, with
// characters of several bytes at the cut (RF-05 to RF-09, RF-11, RF-12).
func TestGolden(t *testing.T) {
	t.Parallel()
	parts := func(text string, image int) toolspec.Parts {
		return toolspec.Parts{
			{Type: toolspec.PartText, Text: text},
			{Type: toolspec.PartImage, MediaType: "image/png", Data: make([]byte, image), Name: "é.png"},
			{Type: toolspec.PartResourceLink, URI: "https://example.com/é", Name: "link"},
		}
	}
	rows := func(n, width int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = sized("é", width)
		}
		return list
	}
	content := func(as toolspec.Content, path string) []toolspec.Truncation {
		return []toolspec.Truncation{{Path: path, As: as}}
	}
	for _, tc := range []struct {
		name     string
		kind     toolspec.ValueKind
		contents []toolspec.Truncation
		limit    int
		value    func(n int) any
	}{
		{"file-lines", toolspec.KindText, content(toolspec.FileContents, ""), 10 << 10, func(n int) any { return sized("line of text €\n", n) }},
		{"file-2-bytes", toolspec.KindText, content(toolspec.FileContents, ""), 10 << 10, func(n int) any { return sized("é", n) }},
		{"file-3-bytes", toolspec.KindText, content(toolspec.FileContents, ""), 10 << 10, func(n int) any { return sized("€", n) }},
		{"file-4-bytes", toolspec.KindText, content(toolspec.FileContents, ""), 10 << 10, func(n int) any { return sized("😀", n) }},
		{"file-member", toolspec.KindJSON, content(toolspec.FileContents, "/a/b~1c"), 10 << 10, func(n int) any {
			return map[string]any{"a": map[string]any{"b/c": sized("€", n), "d": 1}}
		}},
		{"shell-lines", toolspec.KindText, content(toolspec.ShellOutput, ""), 10 << 10, func(n int) any { return sized("line of text €\n", n) }},
		{"shell-3-bytes", toolspec.KindText, content(toolspec.ShellOutput, ""), 10 << 10, func(n int) any { return sized("€", n-1) + "." }},
		{"shell-4-bytes", toolspec.KindText, content(toolspec.ShellOutput, ""), 10 << 10, func(n int) any { return sized("😀", n-1) + "." }},
		{"listing", toolspec.KindJSON, content(toolspec.Listing, ""), 1000, func(n int) any { return rows(n, 3) }},
		{"listing-wide", toolspec.KindJSON, content(toolspec.Listing, ""), 1000, func(n int) any { return rows(n, 60) }},
		{"listing-member", toolspec.KindJSON, content(toolspec.Listing, "/entries"), 1000, func(n int) any { return map[string]any{"entries": rows(n, 3)} }},
		{"search", toolspec.KindJSON, content(toolspec.SearchResults, ""), 100, func(n int) any { return rows(n, 9) }},
		{"text", toolspec.KindText, nil, toolspec.MaxInline, func(n int) any { return jsonText("€", n) }},
		{"text-lines", toolspec.KindText, nil, toolspec.MaxInline, func(n int) any { return jsonText("é", n-3000) + strings.Repeat("\n", 1500) }},
		{"json-list", toolspec.KindJSON, nil, toolspec.MaxInline, func(n int) any {
			return filled(t, n, func(text string) any { return []string{"é", jsonText("€", 100), text} })
		}},
		{"json-one-element", toolspec.KindJSON, nil, toolspec.MaxInline, func(n int) any {
			return filled(t, n, func(text string) any { return []string{text} })
		}},
		{"json-object", toolspec.KindJSON, nil, toolspec.MaxInline, func(n int) any {
			return filled(t, n, func(text string) any { return map[string]any{"a": text, "b": 1} })
		}},
		{"json-text", toolspec.KindJSON, nil, toolspec.MaxInline, func(n int) any { return jsonText("😀", n) }},
		{"parts-text", toolspec.KindParts, nil, toolspec.MaxInline, func(n int) any {
			return filled(t, n, func(text string) any { return parts(text, 3) })
		}},
		{"parts-image", toolspec.KindParts, nil, toolspec.MaxInline, func(n int) any {
			return filled(t, n, func(text string) any { return parts(text, 48000) })
		}},
	} {
		var got strings.Builder
		for _, at := range []struct {
			name string
			by   int
		}{{"below", -1}, {"at", 0}, {"above", 1}} {
			v := truncate.Value{JSON: encoded(t, tc.value(tc.limit+at.by)), Kind: tc.kind, Contents: tc.contents, Most: toolspec.MaxInline}
			if tc.contents == nil && len(v.JSON) != tc.limit+at.by {
				t.Fatalf("%s: the value has %d bytes, not %d", tc.name, len(v.JSON), tc.limit+at.by)
			}
			if v.Exceeds() != (at.by > 0) {
				t.Errorf("%s: %s the limit: exceeds is %v", tc.name, at.name, v.Exceeds())
			}
			if !v.Exceeds() {
				fmt.Fprintf(&got, "%s: %d bytes, unchanged\n", at.name, len(v.JSON))
				continue
			}
			short := v.Short("out_1")
			fmt.Fprintf(&got, "%s: %d bytes become %d, SHA-256 %x\n%s", at.name, len(v.JSON), len(short), sha256.Sum256(short), ends(short))
			sound(t, tc.name, tc.kind, short)
		}
		path := filepath.Join("testdata", tc.name+".golden")
		if *update {
			if err := os.WriteFile(path, []byte(got.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || got.String() != string(want) {
			t.Errorf("%s: got %s, %v", tc.name, got.String(), err)
		}
	}
}

// ends returns the beginning and the end of a short form, on lines of their own.
func ends(short json.RawMessage) string {
	const shown = 240
	text := string(short)
	if len(text) <= 2*shown {
		return text + "\n"
	}
	return truncate.Cut(text, shown) + "\n…\n" + strings.ToValidUTF8(text[len(text)-shown:], "") + "\n"
}

// sound checks what holds for each short form: it is JSON of its kind within MaxShort, has whole
// characters only, and says that it is short and how to get the rest.
func sound(t *testing.T, name string, kind toolspec.ValueKind, short json.RawMessage) {
	t.Helper()
	text := string(short)
	if !json.Valid(short) || len(short) > truncate.MaxShort || !utf8.Valid(short) || strings.ContainsRune(text, utf8.RuneError) || strings.Contains(text, `\ufffd`) {
		t.Errorf("%s: the short form is no sound JSON of %d bytes", name, len(short))
	}
	if !strings.Contains(text, `"truncated":true`) && !strings.Contains(text, truncate.Marker) || !strings.Contains(text, "ref_id out_1") {
		t.Errorf("%s: the short form does not say what it is", name)
	}
	var parts toolspec.Parts
	if kind == toolspec.KindText && text[0] != '"' || kind == toolspec.KindParts && json.Unmarshal(short, &parts) != nil {
		t.Errorf("%s: the short form is of another kind", name)
	}
}
