package catalog

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func wordsOf(text string, single bool) (words, shown []string) {
	eachWord(text, single, func(word string) {
		words, shown = append(words, stem(word)), append(shown, word)
	})
	return words, shown
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"readFile":                    "read file readfil",
		"read_file":                   "read file readfil",
		"read-file":                   "read file readfil",
		"READ_FILE":                   "read file readfil",
		"mcp__github__list_issues":    "mcp github list issu listissu",
		"HTTPServer":                  "http server httpserver",
		"parseJSON":                   "pars json parsejson",
		"getURLOfPage2":               "get url of page2 geturlofpage2",
		"sha256":                      "sha256",
		"S3Bucket":                    "s3 bucket s3bucket",
		"files, filing; FILE":         "file file file",
		"one/two.three":               "one two three",
		"_leading__and_trailing_ - x": "lead and trail andtrail x",
		"don't":                       "don t",
		"":                            "",
		" \t\n?!… ":                   "",
		"Größe ÉCLAIR":                "größe éclair",
		"ΑΘΉΝΑ":                       "αθήνα",
		"caf\u00e9 cafe\u0301":        "café café", // composed and decomposed
		"ﬁle １２":                      "file 12",
		"übergrößenÄndern":            "übergrößen ändern übergrößenändern",
		"搜索文档":                        "搜索 索文 文档",
		"文":                           "文",
		"申請forms":                     "申請 form",
		"カタカナ ｶﾀ":                     "カタ タカ カナ カタ",
		"파일 읽기":                       "파일 읽기",
		"ค้น":                         "ค้ ้น",
		"\xff\xfeab":                  "ab",
	} {
		words, _ := wordsOf(text, false)
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if words, _ := wordsOf("搜索文", true); strings.Join(words, " ") != "搜 搜索 索 索文 文" {
		t.Errorf("with single characters: %q", words)
	}
	if _, shown := wordsOf("Files ReadFile", false); strings.Join(shown, " ") != "files read file readfile" {
		t.Errorf("shown as %q", shown)
	}
}

// FuzzWords: no text gives an empty, too long or invalid word, and the words of a query are among
// those of a tool with the same text.
func FuzzWords(f *testing.F) {
	for _, seed := range []string{"readFile", "a__b_-c", "搜索文档ok", "HTTPServerS", "\xff", "ＡＢ", "e\u0301", strings.Repeat("aB", 300), strings.Repeat("é", 100)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		asked, _ := wordsOf(text, false)
		indexed, _ := wordsOf(text, true)
		for _, word := range asked {
			if word == "" || len(word) > maxWordBytes || !utf8.ValidString(word) {
				t.Errorf("%q has the word %q", text, word)
			}
			if !slices.Contains(indexed, word) {
				t.Errorf("%q: a query has the word %q, a tool does not", text, word)
			}
		}
		if len(asked) > 2*len(text) || len(indexed) > 3*len(text) {
			t.Errorf("%q has %d and %d words", text, len(asked), len(indexed))
		}
	})
}

func TestArgumentWords(t *testing.T) {
	a := argumentsOf([]byte(`{
	  "type": "object", "description": "the root", "title": "not read",
	  "properties": {
	    "b": {"type": "object", "properties": {"deep": {"type": "array", "items": {"properties": {"deeper": {"description": "far down"}}}}}},
	    "a": {"description": "first", "enum": ["not read"], "default": "not read", "const": {"properties": {"notRead": {}}}},
	    "description": {"type": "string"}, "properties": {"type": "string"},
	    "c": {"anyOf": [{"$ref": "#/$defs/d"}, {"type": "null", "description": "or none"}]}
	  },
	  "$defs": {"d": {"properties": {"e": true}}}
	}`))
	if got := strings.Join(a.names, " "); got != "e a b deep deeper c description properties" {
		t.Errorf("names %q", got)
	}
	if got := strings.Join(a.descriptions, ", "); got != "the root, first, far down, or none" {
		t.Errorf("descriptions %q", got)
	}
	for _, doc := range []string{"", "null", "[]", "1", `{"properties":[1]}`, `{"properties":{"a":1},"items":{"properties":null}}`, "{"} {
		if a := argumentsOf([]byte(doc)); len(a.names) > 1 {
			t.Errorf("%s: %+v", doc, a)
		}
	}
	wide := argumentsOf([]byte(`{"properties":{` + strings.Repeat(`"a":{},`, 10) + manyFields(5_000) + `}}`))
	if len(wide.names) > maxSchemaNodes {
		t.Errorf("%d names are read of a wide schema", len(wide.names))
	}
	deep := argumentsOf([]byte(strings.Repeat(`{"items":`, 1_000) + `{"properties":{"a":{}}}` + strings.Repeat(`}`, 1_000)))
	if len(deep.names) != 0 {
		t.Errorf("%q is read of a deep schema", deep.names)
	}
}

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"f` + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/26) + `":{}`)
	}
	return b.String()
}
