package schema

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// TestClosed (C-14): unknown names are refused in every object that lists its fields, and the parts
// of a composition keep their meaning.
func TestClosed(t *testing.T) {
	for doc, c := range map[string]struct{ good, wrong, open []string }{
		`"properties":{"a":{}}`:                {[]string{`{"a":1}`}, []string{`{"b":1}`}, nil},
		``:                                     {[]string{`{}`}, []string{`{"b":1}`}, nil},
		`"properties":{"a":{"type":"object"}}`: {[]string{`{"a":{"any":1}}`}, []string{`{"b":1}`}, []string{"/properties/a/type"}},
		`"properties":{"a":{"properties":{"x":{}}}}`:                                                                        {[]string{`{"a":{"x":1}}`}, []string{`{"a":{"y":1}}`}, nil},
		`"properties":{"a":{"type":"array","items":{"type":"object","properties":{"x":{}}}}}`:                               {[]string{`{"a":[{"x":1}]}`}, []string{`{"a":[{"y":1}]}`}, nil},
		`"additionalProperties":true,"properties":{"a":{"properties":{"x":{}}}}`:                                            {[]string{`{"z":1}`}, []string{`{"a":{"y":1}}`}, nil},
		`"properties":{"m":{"type":"object","additionalProperties":{"properties":{"x":{}}}}}`:                               {[]string{`{"m":{"k":{"x":1}}}`}, []string{`{"m":{"k":{"y":1}}}`}, nil},
		`"allOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]`:                                                         {[]string{`{"a":1,"b":1}`}, []string{`{"a":1,"c":1}`}, nil},
		`"properties":{"a":{}},"anyOf":[{"properties":{"b":{}},"required":["b"]},{"properties":{"c":{}},"required":["c"]}]`: {[]string{`{"a":1,"b":1}`, `{"c":1}`}, []string{`{"b":1,"d":1}`, `{"a":1}`}, nil},
		`"oneOf":[{"properties":{"a":{"properties":{"x":{}}}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]`:  {[]string{`{"a":{"x":1,"y":1}}`, `{"b":1}`}, []string{`{"a":1,"z":1}`}, []string{"/oneOf"}},
		`"definitions":{"d":{"properties":{"x":{}}}},"properties":{"a":{"$ref":"#/definitions/d"}}`:                         {[]string{`{"a":{"x":1}}`}, []string{`{"a":{"y":1}}`}, nil},
		`"definitions":{"d":{"properties":{"x":{}}}},"properties":{"a":{"$ref":"#/definitions/d"},"b":{"allOf":[{"$ref":"#/definitions/d"},{"properties":{"y":{}}}]}}`: {
			[]string{`{"a":{"x":1},"b":{"x":1,"y":1}}`}, []string{`{"a":{"y":1}}`, `{"b":{"z":1}}`}, nil},
		`"properties":{"a":{"properties":{"x":{}}},"b":{"allOf":[{"$ref":"#/properties/a"},{"properties":{"y":{}}}]}}`: {
			[]string{`{"b":{"x":1,"y":1}}`}, []string{`{"b":{"z":1}}`, `{"c":1}`}, []string{"/properties/a/properties"},
		},
		`"properties":{"a":{"not":{"properties":{"x":{}},"required":["x"]}}}`: {[]string{`{"a":{"y":1}}`}, []string{`{"a":{"x":1}}`, `{"b":1}`}, nil},
		`"definitions":{"d":{"type":"object","properties":{"x":{"properties":{"k":{"const":1}},"required":["k"]}},"required":["x"]}},"properties":{"a":{"$ref":"#/definitions/d"},"n":{"not":{"$ref":"#/definitions/d"}}}`: {
			[]string{`{"n":{}}`}, []string{`{"n":{"x":{"k":1,"more":1}}}`}, nil},
		`"properties":{"a":{"type":"object","properties":{"n":{"$ref":"#/properties/a"}}}}`: {[]string{`{"a":{"n":{"n":{}}}}`}, []string{`{"a":{"n":{"m":1}}}`}, nil},
	} {
		for _, d := range []jsonschema.Draft{jsonschema.Draft06, jsonschema.Draft07, jsonschema.Draft2019, jsonschema.Draft2020} {
			full := strings.Replace(`{"$schema":"`+d.URI()+`","type":"object",`+doc+`}`, ",}", "}", 1)
			closed, open, err := Close(json.RawMessage(full))
			if err != nil {
				t.Errorf("%s: %v", full, err)
				continue
			}
			s := compiled(t, string(closed))
			if s.Digest() == compiled(t, full).Digest() {
				t.Errorf("%s: the digest is the same", full)
			}
			for _, value := range c.good {
				if got := first(s, value); got != "" {
					t.Errorf("%s: %s: %s by %s", full, value, got, closed)
				}
			}
			for _, value := range c.wrong {
				if first(s, value) == "" {
					t.Errorf("%s: %s is accepted by %s", full, value, closed)
				}
			}
			for _, at := range c.open {
				if !slices.ContainsFunc(open, func(f Finding) bool { return f.Pointer == at && f.Effect == LeftOpen }) {
					t.Errorf("%s: got %+v", full, open)
				}
			}
		}
	}
	done := `{"type":"object","properties":{"a":{}},"additionalProperties":false}`
	if got, findings, err := Close(json.RawMessage(done)); err != nil || string(got) != done || findings != nil {
		t.Errorf("got %s, %v, %v", got, findings, err)
	}
}

// TestClosedIgnoresKeywordsBesideRef: fields that a draft ignores beside $ref do not make a map an object with listed fields.
func TestClosedIgnoresKeywordsBesideRef(t *testing.T) {
	for _, beside := range []string{`"properties":{"a":{}}`, `"allOf":[{"properties":{"a":{}}}]`, `"dependencies":{"k":{"properties":{"a":{}}}}`} {
		doc := `{"$schema":"` + jsonschema.Draft07.URI() + `","type":"object","properties":{"m":{"$ref":"#/definitions/map",` + beside + `},` +
			`"o":{"allOf":[{"$ref":"#/definitions/map"},{"properties":{"b":{}}}]}},"definitions":{"map":{"type":"object"}}}`
		closed, _, err := Close(json.RawMessage(doc))
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		if got := first(compiled(t, string(closed)), `{"m":{"x":1},"o":{"b":1}}`); got != "" {
			t.Errorf("%s: %s by %s", doc, got, closed)
		}
	}
}

// TestDeclare: a document to which two drafts give different meanings is accepted if Declare sets
// the draft.
func TestDeclare(t *testing.T) {
	doc := ` {"type":"object","definitions":{"n":{"type":"integer"}},"properties":{"v":{"$ref":"#/definitions/n","minimum":3}}}`
	if _, err := jsonschema.Compile(json.RawMessage(doc)); err == nil {
		t.Error("an ambiguous document was accepted")
	}
	s := compiled(t, string(jsonschema.Declare(json.RawMessage(doc), jsonschema.Draft2020)))
	if s.Draft() != jsonschema.Draft2020 || first(s, `{"v":1}`) == "" || first(s, `{"v":3}`) != "" {
		t.Errorf("%s by %s", s.Draft(), s.Document())
	}
	for _, same := range []string{`{"$schema":"` + jsonschema.Draft07.URI() + `","type":"object"}`, `[]`, `{`, `null`} {
		if got := jsonschema.Declare(json.RawMessage(same), jsonschema.Draft2020); string(got) != same {
			t.Errorf("got %s", got)
		}
	}
	if got := jsonschema.Declare(json.RawMessage(`{}`), jsonschema.Draft06); string(got) != `{"$schema":"`+jsonschema.Draft06.URI()+`"}` {
		t.Errorf("got %s", got)
	}
}

// TestLint (SP-10): findings of Lint are advice and do not refuse a document.
func TestLint(t *testing.T) {
	for doc, want := range map[string]string{
		`"properties":{"a":{"oneOf":[{}]}}`:           "/properties/a/oneOf lint",
		`"anyOf":[{}]`:                                "/anyOf lint",
		`"properties":{"a":{"items":{"allOf":[{}]}}}`: "/properties/a/items/allOf lint",
		`"properties":{"a":{"not":{}}}`:               "/properties/a/not lint",
		`"if":{},"then":{},"else":{}`:                 "/if lint",
		`"then":{}`:                                   "/then ignored",
		`"patternProperties":{"x":{}}`:                "/patternProperties lint",
		`"properties":{"a":{"$ref":"#"}}`:             "/properties/a/$ref lint",
		`"definitions":{"a":{"$ref":"#/definitions/b"},"b":{}},"properties":{"a":{"$ref":"#/definitions/a"}}`: "/properties/a/$ref lint",
		`"definitions":{"a":{}},"properties":{"a":{"$ref":"#/definitions/a","minimum":3}}`:                    "/properties/a/minimum ignored",
		`"properties":{"a":{"additionalItems":false}}`:                                                        "/properties/a/additionalItems ignored",
		`"properties":{"a":{"$ref":"#/definitions/a"}},"definitions":{"a":{}}`:                                "",
		`"properties":{"a":{"type":"string","enum":["x"]}}`:                                                   "",
	} {
		list, err := Lint(json.RawMessage(`{"$schema":"` + jsonschema.Draft07.URI() + `","type":"object",` + doc + `}`))
		if err != nil {
			t.Errorf("%s: %v", doc, err)
			continue
		}
		got := slices.ContainsFunc(list, func(f Finding) bool { return f.Pointer+" "+string(f.Effect) == want })
		if !got && want != "" || want == "" && len(list) > 0 {
			t.Errorf("%s: got %+v", doc, list)
		}
	}
}

// TestNothingIsFetched: no function of the package fetches a URL that a document names. A listener
// at the address gets no connection.
func TestNothingIsFetched(t *testing.T) {
	var seen atomic.Int64
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(net.Conn, http.ConnState) { seen.Add(1) }
	server.Start()
	defer server.Close()
	at := server.URL
	for _, doc := range []string{
		`{"type":"object","properties":{"a":{"$ref":"` + at + `/a.json"}}}`,
		`{"$schema":"` + at + `/meta","type":"object"}`,
		`{"$id":"` + at + `/self","type":"object","properties":{"a":{"$ref":"other.json"}}}`,
		`{"$id":"` + at + `/self","type":"object","properties":{"a":{"type":"string","format":"uri"}}}`,
		`{"$schema":"` + jsonschema.Draft2020.URI() + `","$vocabulary":{"` + at + `/v":true},"type":"object"}`,
		`{"$schema":"` + jsonschema.Draft04.URI() + `","id":"` + at + `/self","type":"object","properties":{"a":{"$ref":"` + at + `/x"}}}`,
		`{"type":"object","properties":{"a":{"$id":"` + at + `/inner","$ref":"#/x"}}}`,
		`{"type":"object","properties":{"a":{"contentSchema":{"$ref":"` + at + `/c"}}}}`,
		`{"type":"object","properties":{"a":{"enum":[{"$ref":"` + at + `/c"}],"default":"` + at + `"}}}`,
	} {
		raw := json.RawMessage(doc)
		if s, err := jsonschema.Compile(raw); err == nil {
			s.Validate(json.RawMessage(`{"a":"` + at + `/value"}`))
		}
		_, _, _ = Close(raw)
		_, _ = Lint(raw)
		_ = CheckInput(raw)
		_, _ = Project(raw, []string{"/a"})
		for _, target := range allTargets() {
			_, _ = Down(raw, target)
		}
	}
	if n := seen.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
	// The listener does notice connections.
	if response, err := http.Get(at); err == nil {
		_ = response.Body.Close()
	}
	if seen.Load() == 0 {
		t.Error("the listener does not notice connections")
	}
}
