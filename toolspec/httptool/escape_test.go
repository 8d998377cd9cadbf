package httptool

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPathEscapes: no argument leaves its segment of the path, however a server decodes it.
func TestPathEscapes(t *testing.T) {
	t.Parallel()
	tool := minimal()
	tool.Request.Path = "/a/{x}/b"
	tool.Input = json.RawMessage(`{"type":"object","properties":{"x":{}},"required":["x"]}`)
	for _, bad := range []string{
		``, `.`, `..`, `../..`, `a/b`, `/`, `\`, `..\\`, `%2f`, `%2F..`, `%252f`, `%25252F`, `%5c`, `%2e%2e`, `a%2fb`, `..;`, `..;x`, `.;`, "a\n", "a\x00", "\x7f",
	} {
		args := jsonOf(t, map[string]string{"x": bad})
		if req, err := requestOf(t, tool, args); err == nil {
			t.Errorf("%q is sent as %s", bad, req.URL.EscapedPath())
		}
	}
	for good, want := range map[string]string{
		"x": "/a/x/b", "...": "/a/.../b", "ü ?#": "/a/%C3%BC%20%3F%23/b", "a;b=c": "/a/a%3Bb%3Dc/b", "@evil.example": "/a/%40evil.example/b", "50%": "/a/50%25/b",
	} {
		args := jsonOf(t, map[string]string{"x": good})
		req, err := requestOf(t, tool, args)
		if err != nil || req.URL.EscapedPath() != want || req.URL.Host != "api.example.com" {
			t.Errorf("%q: %v, %v", good, req, err)
		}
	}
	for _, bad := range []string{`{}`, `{"x":null}`, `{"x":[]}`, `{"x":["a","/"]}`, `{"x":{"/":1}}`, `{"x":[""]}`} {
		if req, err := requestOf(t, tool, bad); err == nil {
			t.Errorf("%s is sent as %s", bad, req.URL.EscapedPath())
		}
	}
	tool.Request.Parameters = []Parameter{{In: InPath, Name: "x", EncodedSlash: true}}
	req, err := requestOf(t, tool, `{"x":"group/project"}`)
	if err != nil || req.URL.EscapedPath() != "/a/group%2Fproject/b" {
		t.Errorf("with encodedSlash: %v, %v", req, err)
	}
	for _, bad := range []string{"../x", "a/../b", "/a", "a//b", "a/"} {
		if req, err := requestOf(t, tool, `{"x":"`+bad+`"}`); err == nil {
			t.Errorf("with encodedSlash %q is sent as %s", bad, req.URL.EscapedPath())
		}
	}
	tool.Request.Path, tool.Request.Parameters = "/a/.{x}/b", nil
	if req, err := requestOf(t, tool, `{"x":"."}`); err == nil {
		t.Errorf("a literal and an argument make %s", req.URL.EscapedPath())
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestHeaderInjection: no argument adds a header, a cookie or a line.
func TestHeaderInjection(t *testing.T) {
	t.Parallel()
	tool := minimal()
	tool.Input = json.RawMessage(`{"type":"object","properties":{"h":{},"c":{}}}`)
	tool.Request.Parameters = []Parameter{{In: InHeader, Name: "X-H", Arg: "h"}, {In: InCookie, Name: "c"}}
	for _, bad := range []string{"a\r\nX-Evil: 1", "a\n", "a\rb", "\x00", "a\x7f", " a", "a "} {
		args := jsonOf(t, map[string]string{"h": bad})
		if req, err := requestOf(t, tool, args); err == nil {
			t.Errorf("%q is sent as %q", bad, req.Header)
		}
	}
	req, err := requestOf(t, tool, `{"h":"ü\tx","c":"a; session=evil\r\n,\""}`)
	if err != nil || req.Header.Get("Cookie") != "c=a%3B%20session%3Devil%0D%0A%2C%22" || req.Header.Get("X-H") != "ü\tx" {
		t.Errorf("%v, %v", req, err)
	}
}

// TestRefusedDocuments: descriptions that could send a credential or a request elsewhere, or that cannot work.
func TestRefusedDocuments(t *testing.T) {
	t.Parallel()
	secret := "sk-012345678901234567890123"
	constant := "1"
	for name, change := range map[string]func(*Tool){
		"no connection, no host": func(t *Tool) { t.Host = "" },
		"host with scheme":       func(t *Tool) { t.Host = "https://api.example.com" },
		"host with path":         func(t *Tool) { t.Host = "api.example.com/x" },
		"host with user":         func(t *Tool) { t.Host = "a@api.example.com" },
		"host in upper case":     func(t *Tool) { t.Host = "API.example.com" },
		"host as number":         func(t *Tool) { t.Host = "2130706433" },
		"path is relative":       func(t *Tool) { t.Request.Path = "x" },
		"path with host":         func(t *Tool) { t.Request.Path = "//evil.example/x" },
		"path with query":        func(t *Tool) { t.Request.Path = "/x?a=b" },
		"path with fragment":     func(t *Tool) { t.Request.Path = "/x#a" },
		"path with dots":         func(t *Tool) { t.Request.Path = "/x/../y" },
		"path with escape":       func(t *Tool) { t.Request.Path = "/x/%2e%2e/y" },
		"path with backslash":    func(t *Tool) { t.Request.Path = `/x\y` },
		"path without end":       func(t *Tool) { t.Request.Path = "/x/{a" },
		"method":                 func(t *Tool) { t.Request.Method = "CONNECT" },
		"unknown argument":       func(t *Tool) { t.Request.Parameters = []Parameter{{In: InQuery, Name: "a"}} },
		"authorization": func(t *Tool) {
			t.Request.Parameters = []Parameter{{In: InHeader, Name: "AUTHORIZATION", Value: &constant}}
		},
		"host header":        func(t *Tool) { t.Request.Parameters = []Parameter{{In: InHeader, Name: "Host", Value: &constant}} },
		"name of a header":   func(t *Tool) { t.Request.Parameters = []Parameter{{In: InHeader, Name: "a\r\nb", Value: &constant}} },
		"constant secret":    func(t *Tool) { t.Request.Parameters = []Parameter{{In: InQuery, Name: "q", Value: &secret}} },
		"constant api key":   func(t *Tool) { t.Request.Parameters = []Parameter{{In: InQuery, Name: "api_key", Value: &constant}} },
		"idempotency header": func(t *Tool) { t.Request.IdempotencyKey = "Authorization" },
		"unused argument":    func(t *Tool) { t.Input = json.RawMessage(`{"type":"object","properties":{"a":{}}}`) },
		"optional in path": func(t *Tool) {
			t.Request.Path, t.Input = "/{a}", json.RawMessage(`{"type":"object","properties":{"a":{}}}`)
		},
		"body of GET": func(t *Tool) { t.Request.Body = &Body{Arg: "b", Type: BodyJSON} },
		"head":        func(t *Tool) { t.Request.Method = http.MethodHead },
		"no null": func(t *Tool) {
			t.Response.Empty, t.Response.Schema = true, json.RawMessage(`{"type":"object"}`)
		},
		"status": func(t *Tool) { t.Response.Results = []string{"2YY"} },
	} {
		tool := minimal()
		change(&tool)
		if err := tool.Check(); err == nil {
			t.Errorf("%s: %+v is accepted", name, tool)
		}
	}
}

// FuzzURL: whatever the arguments are, the request goes to the host of the base, its path has as many
// segments as the template, also after decoding, and its query has one parameter.
func FuzzURL(f *testing.F) {
	for _, seed := range []string{"", "..", "a/b", "%2f", "ü", "a?b#c", "//evil.example", "\\\\evil", "..;/", "%252e"} {
		f.Add(seed, seed)
	}
	tool := minimal()
	tool.Request.Path = "/v1/{x}/items/{y}.json"
	tool.Request.Parameters = []Parameter{{In: InPath, Name: "y", Style: Simple}, {In: InQuery, Name: "q", Arg: "x", AllowReserved: true}}
	tool.Input = json.RawMessage(`{"type":"object","properties":{"x":{},"y":{}},"required":["x","y"]}`)
	f.Fuzz(func(t *testing.T, x, y string) {
		args, err := json.Marshal(map[string]string{"x": x, "y": y})
		if err != nil || !utf8.ValidString(x) { // JSON holds UTF-8 only
			t.Skip()
		}
		req, err := requestOf(t, tool, string(args))
		if err != nil {
			return
		}
		if req.URL.Host != "api.example.com" || req.URL.Scheme != "https" || req.Host != "api.example.com" || req.URL.User != nil || req.URL.Fragment != "" {
			t.Errorf("%q %q: %s", x, y, req.URL)
		}
		parsed, err := req.URL.Parse(req.URL.String())
		if err != nil || parsed.Host != "api.example.com" || parsed.EscapedPath() != req.URL.EscapedPath() || parsed.RawQuery != req.URL.RawQuery {
			t.Errorf("%q %q: %s is read as %v, %v", x, y, req.URL, parsed, err)
		}
		for _, path := range []string{req.URL.EscapedPath(), req.URL.Path} {
			segments := strings.Split(path, "/")
			if len(segments) != 5 || segments[1] != "v1" || segments[3] != "items" || strings.Contains(path, `\`) {
				t.Errorf("%q %q: %s", x, y, path)
			}
			for _, s := range segments[1:] {
				if s == "" || isDots(s) {
					t.Errorf("%q %q: segment %q of %s", x, y, s, path)
				}
			}
		}
		if query := req.URL.Query(); len(query) != 1 || len(query["q"]) != 1 || query.Get("q") != x {
			t.Errorf("%q %q: %s", x, y, req.URL.RawQuery)
		}
	})
}
