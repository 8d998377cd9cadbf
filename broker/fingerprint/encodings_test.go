package fingerprint

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
)

// shapes are secrets as providers make them; none is one.
func shapes() map[string]string {
	return map[string]string{
		"eight":           "aB3$xY7!",
		"github":          "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
		"aws":             "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"jwt":             "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
		"pem":             "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgevZzL1gdAFr88hb2\nOF/2NxApJCzGCEDdfSp6VQO30hyhRANCAAQRWz+jn65BtOMvdyHKcvjBeBSDZH2r\n-----END PRIVATE KEY-----\n",
		"connection":      "postgres://svc:p%40ss&word<1>@db.internal:5432/app?sslmode=require",
		"cookie":          `session="s%3A4f3c.9aX/2+z=="; Path=/`,
		"password":        `Tr0ub4dor &"3\'<>`,
		"umlaut":          "pässwörter-für-alle",
		"emoji":           "open\U0001F511sesame\U0001F6AA",
		"bytes":           "\x00\x01\xfe\xffK\x80\x81\x82\x83ey",
		"slashes":         "//aa//bb//cc//",
		"hexadecimal":     "9f86d081884c7d659a2feaa0c55ad015",
		"new lines":       "first line\r\nsecond\tline\n",
		"control":         "be\x07ll\x1b[31mred",
		"line separators": "a\u2028b\u2029c-separated",
	}
}

// encodings are ways to write a secret into a longer text.
func encodings() map[string]func(string) string {
	in := func(text string) string { return "some text before " + text + " and some after" }
	b64 := func(e *base64.Encoding, shift int) func(string) string {
		return func(s string) string {
			return in(e.EncodeToString([]byte("xyz"[:shift] + s + "tail")))
		}
	}
	found := map[string]func(string) string{
		"plain":     in,
		"alone":     func(s string) string { return s },
		"upper":     func(s string) string { return in(string(bytes.Map(upper, []byte(s)))) },
		"hex":       func(s string) string { return in(hex.EncodeToString([]byte(s))) },
		"HEX":       func(s string) string { return in(strings.ToUpper(hex.EncodeToString([]byte(s)))) },
		"hex dump":  func(s string) string { return in(fmt.Sprintf("% x", s)) },
		"query":     func(s string) string { return in(url.QueryEscape(s)) },
		"path":      func(s string) string { return in(url.PathEscape(s)) },
		"percent":   func(s string) string { return in(string(each([]byte(s), "", "%%%02X"))) },
		"html":      func(s string) string { return in(html.EscapeString(s)) },
		"quoted":    func(s string) string { return in(strconv.Quote(s)) },
		"ascii":     func(s string) string { return in(strconv.QuoteToASCII(s)) },
		"bytes":     func(s string) string { return in(fmt.Sprintf("%v", []byte(s))) },
		"list":      func(s string) string { return in(string(each([]byte(s), ",", "%d"))) },
		"backwards": func(s string) string { return in(string(reversed([]byte(s)))) },
	}
	for shift := range 3 {
		found[fmt.Sprint("base64 at ", shift)] = b64(base64.StdEncoding, shift)
		found[fmt.Sprint("base64url at ", shift)] = b64(base64.URLEncoding, shift)
		found[fmt.Sprint("base64 in lines at ", shift)] = func(s string) string {
			return in(lines(base64.StdEncoding.EncodeToString([]byte("xyz"[:shift]+s+"tail")), 13))
		}
	}
	return found
}

// texts are encodings of what is valid UTF-8.
func texts(t *testing.T) map[string]func(string) string {
	marshal := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	plain := func(v any) string {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	value := func(s string) any { return map[string]any{"n": 1, "text": "before " + s + " after"} }
	return map[string]func(string) string{
		"json":              func(s string) string { return marshal(value(s)) },
		"json unescaped":    func(s string) string { return plain(value(s)) },
		"json with slashes": func(s string) string { return strings.ReplaceAll(plain(value(s)), "/", `\/`) },
		"json in text":      func(s string) string { return "it said " + marshal(value(s)) },
		"json in json":      func(s string) string { return marshal(map[string]string{"args": marshal(value(s))}) },
		"json name":         func(s string) string { return marshal(map[string]int{s: 1}) },
		"json as base64":    func(s string) string { return marshal(base64.StdEncoding.EncodeToString([]byte(marshal(value(s))))) },
		"json as hex":       func(s string) string { return `\x` + hex.EncodeToString([]byte(marshal(value(s)))) },
		"every character":   func(s string) string { return "x" + string(codeUnits(s)) + "y" },
		"json bytes": func(s string) string {
			var numbers []int
			for _, c := range []byte(s) {
				numbers = append(numbers, int(c))
			}
			text, err := json.MarshalIndent(map[string]any{"a": 300, "data": numbers}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		},
		"utf-16 le": func(s string) string { return "x" + string(units(s, 0)) },
		"utf-16 be": func(s string) string { return "\x00x" + string(units(s, 1)) },
		"utf-16 as base64": func(s string) string {
			return base64.StdEncoding.EncodeToString(units(s, 0))
		},
	}
}

func units(s string, low int) (b []byte) {
	for _, u := range utf16.Encode([]rune(s)) {
		pair := [2]byte{}
		pair[low], pair[1-low] = byte(u), byte(u>>8)
		b = append(b, pair[:]...)
	}
	return b
}

func upper(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return r - 'a' + 'A'
	}
	return r
}

func lines(s string, width int) string {
	var b strings.Builder
	for i, c := range s {
		if i%width == 0 {
			b.WriteString("\n")
		}
		b.WriteRune(c)
	}
	return b.String()
}
