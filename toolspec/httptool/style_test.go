package httptool

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

// The values of the table of style examples in the OpenAPI specification.
const (
	blank  = `""`
	text   = `"blue"`
	array  = `["blue","black","brown"]`
	object = `{"R":100,"G":200,"B":150}`
)

// TestStyles: the table of style examples of OpenAPI 3.1, percent-encoded.
func TestStyles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in      In
		style   Style
		explode bool
		want    [4]string // of blank, text, array, object; - is an error
	}{
		{InPath, Matrix, false, [4]string{"-", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"}},
		{InPath, Matrix, true, [4]string{"-", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"}},
		{InPath, Label, false, [4]string{"-", ".blue", ".blue,black,brown", ".R,100,G,200,B,150"}},
		{InPath, Label, true, [4]string{"-", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"}},
		{InPath, Simple, false, [4]string{"-", "blue", "blue,black,brown", "R,100,G,200,B,150"}},
		{InPath, Simple, true, [4]string{"-", "blue", "blue,black,brown", "R=100,G=200,B=150"}},
		{InQuery, Form, false, [4]string{"color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"}},
		{InQuery, Form, true, [4]string{"color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"}},
		{InQuery, SpaceDelimited, false, [4]string{"color=", "color=blue", "color=blue%20black%20brown", "color=R%20100%20G%20200%20B%20150"}},
		{InQuery, PipeDelimited, false, [4]string{"color=", "color=blue", "color=blue%7Cblack%7Cbrown", "color=R%7C100%7CG%7C200%7CB%7C150"}},
		{InQuery, DeepObject, true, [4]string{"color=", "color=blue", "color%5B0%5D=blue&color%5B1%5D=black&color%5B2%5D=brown", "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"}},
		{InQuery, JSONStyle, false, [4]string{"color=%22%22", "color=%22blue%22", "color=%5B%22blue%22%2C%22black%22%2C%22brown%22%5D", "color=%7B%22R%22%3A100%2C%22G%22%3A200%2C%22B%22%3A150%7D"}},
		{InHeader, Simple, false, [4]string{"", "blue", "blue,black,brown", "R,100,G,200,B,150"}},
		{InHeader, Simple, true, [4]string{"", "blue", "blue,black,brown", "R=100,G=200,B=150"}},
		{InCookie, Form, false, [4]string{"color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"}},
	} {
		for i, arg := range []string{blank, text, array, object} {
			tool := minimal()
			tool.Request.Path = "/x"
			tool.Request.Parameters = []Parameter{{In: c.in, Name: "color", Style: c.style, Explode: &c.explode}}
			tool.Input = json.RawMessage(`{"type":"object","properties":{"color":{}}}`)
			if c.in == InPath {
				tool.Request.Path, tool.Input = "/x/{color}", json.RawMessage(`{"type":"object","properties":{"color":{}},"required":["color"]}`)
			}
			req, err := requestOf(t, tool, `{"color":`+arg+`}`)
			got := "-"
			if err == nil {
				got = map[In]string{
					InPath: strings.TrimPrefix(req.URL.EscapedPath(), "/x/"), InQuery: req.URL.RawQuery,
					InHeader: req.Header.Get("color"), InCookie: req.Header.Get("Cookie"),
				}[c.in]
			}
			if got != c.want[i] {
				t.Errorf("%s %s explode=%v of %s: %q, want %q (%v)", c.in, c.style, c.explode, arg, got, c.want[i], err)
			}
		}
	}
}

// minimal is a tool without arguments.
func minimal() Tool {
	return Tool{
		ID: "shop__get", Description: "Gets.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Connection: None, Host: "api.example.com",
		Redaction: Redaction{Allow: []string{""}}, Input: json.RawMessage(`{"type":"object","properties":{}}`),
		Request: Request{Method: "GET", Path: "/x"}, Response: Response{Type: ResponseJSON},
	}
}

var here = &url.URL{Scheme: "https", Host: "api.example.com"}

func requestOf(t testing.TB, tool Tool, args string) (*http.Request, error) {
	t.Helper()
	c, err := compile(tool)
	if err != nil {
		t.Fatal(err)
	}
	return c.newRequest(t.Context(), here, json.RawMessage(args), "key-1")
}

// TestNested: null members are left out, deepObject takes nested values, and other styles refuse them.
func TestNested(t *testing.T) {
	t.Parallel()
	yes := true
	tool := minimal()
	tool.Input = json.RawMessage(`{"type":"object","properties":{"a":{},"b":{}}}`)
	tool.Request.Parameters = []Parameter{{In: InQuery, Name: "a"}, {In: InQuery, Name: "b", Style: DeepObject, Explode: &yes}}
	for args, want := range map[string]string{
		`{}`:                               "",
		`{"a":null,"b":{}}`:                "",
		`{"a":[1,null,"x y"]}`:             "a=1&a=x%20y",
		`{"a":"a&b=c#d+e"}`:                "a=a%26b%3Dc%23d%2Be",
		`{"b":{"x":{"y":[1,{"z":true}]}}}`: "b%5Bx%5D%5By%5D%5B0%5D=1&b%5Bx%5D%5By%5D%5B1%5D%5Bz%5D=true",
		`{"a":1e400}`:                      "a=1e400",
		`{"a":[[1]]}`:                      "-",
		`{"a":{"x":[1]}}`:                  "-",
	} {
		req, err := requestOf(t, tool, args)
		got := "-"
		if err == nil {
			got = req.URL.RawQuery
		}
		if got != want {
			t.Errorf("%s: %q, want %q (%v)", args, got, want, err)
		}
	}
	tool.Request.Parameters[0].AllowReserved = true
	req, err := requestOf(t, tool, `{"a":"x/y?z:@&b=1#c"}`)
	if err != nil || req.URL.RawQuery != "a=x/y?z:@%26b%3D1%23c" {
		t.Errorf("reserved: %v, %v", req.URL, err)
	}
}

// TestBodies: the bodies of the types json, form and text.
func TestBodies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, args, mediaType, want string }{
		{`{"arg":"b","type":"json"}`, `{"b":{"z":1.0,"a":"<ü>","n":null}}`, "application/json", `{"z":1.0,"a":"<ü>","n":null}`},
		{`{"arg":"b","type":"json","mediaType":"application/merge-patch+json"}`, `{"b":[]}`, "application/merge-patch+json", `[]`},
		{`{"arg":"b","type":"json"}`, `{}`, "", ``},
		{`{"arg":"b","type":"form"}`, `{"b":{"a":"x&y","l":[1,2],"n":null}}`, "application/x-www-form-urlencoded", `a=x%26y&l=1&l=2`},
		{`{"arg":"b","type":"form","fields":[{"name":"a","style":"deepObject"}]}`, `{"b":{"a":{"k":[true]}}}`, "application/x-www-form-urlencoded", `a%5Bk%5D%5B0%5D=true`},
		{`{"arg":"b","type":"form"}`, `{"b":[1]}`, "", "-"},
		{`{"arg":"b","type":"text"}`, `{"b":"hello"}`, "text/plain; charset=utf-8", `hello`},
		{`{"arg":"b","type":"text"}`, `{"b":{}}`, "", "-"},
	} {
		tool := minimal()
		tool.Request.Method, tool.Request.IdempotencyKey = "POST", "Idempotency-Key"
		tool.Input = json.RawMessage(`{"type":"object","properties":{"b":{}}}`)
		if err := json.Unmarshal([]byte(c.body), &tool.Request.Body); err != nil {
			t.Fatal(err)
		}
		req, err := requestOf(t, tool, c.args)
		if err != nil {
			if c.want != "-" {
				t.Errorf("%s of %s: %v", c.body, c.args, err)
			}
			continue
		}
		got, err := io.ReadAll(req.Body)
		if err != nil || string(got) != c.want || req.Header.Get("Content-Type") != c.mediaType || req.Header.Get("Idempotency-Key") != "key-1" {
			t.Errorf("%s of %s: %q %v, %v", c.body, c.args, got, req.Header, err)
		}
	}
}
