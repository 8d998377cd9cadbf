package app

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pawl-run/pawl/internal/cli/terminaltest"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"plain":           {"Grüße, 世界 ✓ 😀", "Grüße, 世界 ✓ 😀"},
		"combined":        {"e\u0301", "e\u0301"},
		"lines and tabs":  {"a\n\tb", "a\n\tb"},
		"colour":          {"\x1b[31mred\x1b[0m", `\u001b[31mred\u001b[0m`},
		"title":           {"\x1b]0;t\a", `\u001b]0;t\u0007`},
		"C1":              {"\u009b31m\u0090", `\u009b31m\u0090`},
		"C1 as bytes":     {"\x9b31m", "\ufffd31m"},
		"invalid UTF-8":   {"a\xffb\xc3", "a\ufffdb\ufffd"},
		"back":            {"a\rb\bc\x7f", `a\u000db\u0008c\u007f`},
		"bidi":            {"\u202ea\u2066b\u200f", `\u202ea\u2066b\u200f`},
		"zero width":      {"a\u200bb\u200dc\ufeff\u2060", `a\u200bb\u200dc\ufeff\u2060`},
		"line separators": {"a\u2028b\u2029c\u0085", `a\u2028b\u2029c\u0085`},
		"fillers":         {"a\u3164b\u115fc\ufe0fd\u00ad", `a\u3164b\u115fc\ufe0fd\u00ad`},
		"tags":            {"\U000e0041", `\udb40\udc41`},
		"private":         {"\ue000\U0010ffff", `\ue000\udbff\udfff`},
	} {
		if got := Printable(test.text); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		n    int
		want string
	}{
		{" a\n\tb  c ", 10, "a b c"},
		{"abcdef", 6, "abcdef"},
		{"abcdefg", 6, "abcde…"},
		{"ééééééé", 6, "ééééé…"},
		{"a\rb\u2028c", 20, `a\u000db\u2028c`},
		{"\x1b[2J", 4, `\u0…`},
	} {
		if got := OneLine(test.text, test.n); got != test.want {
			t.Errorf("%q in %d: %q, want %q", test.text, test.n, got, test.want)
		}
	}
}

// TestJSONStaysTheSame: the escapes for a terminal do not change what a program reads from JSON.
func TestJSONStaysTheSame(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := PrintJSON(&b, map[string]string{terminaltest.Odd: terminaltest.Odd}); err != nil {
		t.Fatal(err)
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(b.String()), &back); err != nil || back[terminaltest.Odd] != terminaltest.Odd || terminaltest.Unclean(b.String()) != "" {
		t.Errorf("%q, %v, %s", b.String(), err, terminaltest.Unclean(b.String()))
	}
	const number = `{"b":9007199254740993,"a":1.10}`
	if got, want := FormatJSON(json.RawMessage(number), "  "), "{\n    \"b\": 9007199254740993,\n    \"a\": 1.10\n  }"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := FormatJSON(json.RawMessage("\x1b{"), ""); got != `\u001b{` {
		t.Errorf("what is no JSON: %q", got)
	}
}

func FuzzPrintable(f *testing.F) {
	for _, seed := range []string{terminaltest.Odd, "a\xff", "\u2028", "{\"a\":\"\u202e\"}", strings.Repeat("é", 10)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, shown := range []string{Printable(s), OneLine(s, 5), FormatJSON(json.RawMessage(s), "")} {
			if wrong := terminaltest.Unclean(shown); wrong != "" || !utf8.ValidString(shown) {
				t.Errorf("%q is shown as %q: %s", s, shown, wrong)
			}
		}
		if line := OneLine(s, 5); utf8.RuneCountInString(line) > 5 || strings.ContainsAny(line, "\n\t") {
			t.Errorf("%q in a line is %q", s, line)
		}
		quoted, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var want, got string
		if err := json.Unmarshal(quoted, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(FormatJSON(quoted, "")), &got); err != nil || got != want {
			t.Errorf("%q became %q: %v", want, got, err)
		}
	})
}
