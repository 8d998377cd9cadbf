package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

const listing = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false,"required":["entries","total"],"properties":{
	"total":{"type":"integer","minimum":0},
	"entries":{"type":"array","minItems":1,"uniqueItems":true,"items":{"type":"object","additionalProperties":false,"required":["name","secret"],"properties":{
		"name":{"type":"string","maxLength":5},"secret":{"type":"string"},"size":{"type":"integer"}}}},
	"owner":{"type":["object","null"],"properties":{"id":{"type":"string"},"mail":{"type":"string"}},"required":["id","mail"]},
	"env":{"type":"object","additionalProperties":{"type":"object","properties":{"v":{"type":"string"},"w":{"type":"string"}},"required":["v","w"]}},
	"any":true,
	"a/b~":{"type":"string"}}}`

func TestProject(t *testing.T) {
	for name, c := range map[string]struct {
		allow     []string
		good, bad []string
	}{
		"everything": {[]string{""},
			[]string{`{"total":1,"entries":[{"name":"n","secret":"s"}]}`}, []string{`{"entries":[]}`, `{"total":1,"entries":[],"x":1}`}},
		"slash is everything": {[]string{"/"}, []string{`{"total":1,"entries":[{"name":"n","secret":"s"}]}`}, []string{`{}`}},
		"below elements": {[]string{"/entries/*/name"},
			[]string{`{"entries":[]}`, `{"entries":[{"name":"n"},{"name":"n"}]}`},
			[]string{`{}`, `{"entries":[{"name":"toolong"}]}`, `{"entries":[{"name":"n","secret":"s"}]}`, `{"entries":[{}]}`, `{"entries":[],"total":1}`}},
		"whole subtree": {[]string{"/entries"}, []string{`{"entries":[{"name":"n","secret":"s"}]}`}, []string{`{"entries":[{"name":"n"}]}`, `{"entries":[]}`}},
		"several": {[]string{"/total", "/entries/*/size", "/entries/*/name"},
			[]string{`{"total":3,"entries":[{"name":"n","size":1}]}`}, []string{`{"entries":[]}`, `{"total":-1,"entries":[]}`}},
		// Redaction removes null if the path continues, so owner is optional.
		"nullable": {[]string{"/owner/id"}, []string{`{}`, `{"owner":{"id":"x"}}`}, []string{`{"owner":{}}`, `{"owner":{"id":1}}`, `{"owner":{"id":"x","mail":"y"}}`}},
		"map values": {[]string{"/env/*/v"}, []string{`{}`, `{"env":{"A":{"v":"x"}}}`},
			[]string{`{"env":{"A":{"w":"x"}}}`, `{"env":{"A":{"v":"x","w":"x"}}}`}},
		"one map key":        {[]string{"/env/PATH/v"}, []string{`{"env":{"PATH":{"v":"x"}}}`, `{"env":{}}`}, []string{`{"env":{"HOME":{"v":"x"}}}`, `{"env":{"PATH":{}}}`}},
		"star on objects":    {[]string{"/*/id"}, []string{`{"entries":[],"owner":{"id":"x"},"any":{"id":1}}`}, []string{`{"entries":[],"total":1}`, `{"entries":[],"owner":{"mail":"x"}}`}},
		"anything below any": {[]string{"/any/deep/*/x"}, []string{`{"any":{"deep":[{"x":1}]}}`, `{}`}, []string{`{"total":1}`}},
		"escaped names":      {[]string{"/a~1b~0"}, []string{`{"a/b~":"x"}`}, []string{`{"a/b~":1}`}},
		"nothing":            {nil, []string{`{}`}, []string{`{"total":1}`}},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := Project(json.RawMessage(listing), c.allow)
			if err != nil {
				t.Fatal(err)
			}
			s := compiled(t, string(doc))
			for _, v := range c.good {
				if got := first(s, v); got != "" {
					t.Errorf("%s: %s\n%s", v, got, doc)
				}
			}
			for _, v := range c.bad {
				if first(s, v) == "" {
					t.Errorf("%s accepted\n%s", v, doc)
				}
			}
		})
	}
}

func TestProjectRefusesTypos(t *testing.T) {
	for _, allow := range []string{
		"/entires/*/name", "/entries/name", "/entries/0/name", "/entries/*/nmae", "/total/x", "entries", "/entries/*/name/*", "/owner/di", "/env/*/x",
	} {
		doc, err := Project(json.RawMessage(listing), []string{"/total", allow})
		if err == nil || !strings.Contains(err.Error(), allow) {
			t.Errorf("%s: got %s, %v", allow, doc, err)
		}
	}
}

func TestProjectGolden(t *testing.T) {
	doc, err := Project(json.RawMessage(listing), []string{"/total", "/entries/*/name", "/env/*/v"})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "projected.schema.json", doc)
	for range 100 {
		again, err := Project(json.RawMessage(listing), []string{"/total", "/entries/*/name", "/env/*/v"})
		if err != nil || !reflect.DeepEqual(doc, again) {
			t.Fatalf("not the same bytes: %v", err)
		}
	}
}

func TestProjectCombinators(t *testing.T) {
	for name, c := range map[string]struct{ doc, allow, good, bad string }{
		"recursive reference": {
			`{"type":"object","properties":{"n":{"type":"string"},"s":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#"}}}}`,
			"/kids/*/kids/*/n", `{"kids":[{"kids":[{"n":"x"}]}]}`, `{"kids":[{"kids":[{"n":1}]}]}`},
		"kept reference": {
			`{"type":"object","$defs":{"t":{"type":"object","properties":{"t":{"$ref":"#/$defs/t"}},"additionalProperties":false}},"properties":{"a":{"$ref":"#/$defs/t"},"b":{}}}`,
			"/a/t", `{"a":{"t":{"t":{}}}}`, `{"a":{"t":{"x":1}}}`},
		"allOf": {
			`{"type":"object","allOf":[{"properties":{"a":{"type":"string"},"b":{}},"required":["a","b"]},{"properties":{"c":{}}}]}`,
			"/a", `{"a":"x"}`, `{"a":1}`},
		"oneOf": {
			`{"type":"object","properties":{"v":{"oneOf":[{"type":"object","properties":{"k":{"const":1},"s":{}},"required":["k"]},{"type":"object","properties":{"k":{"const":2}},"required":["k"]}]}}}`,
			"/v/k", `{"v":{"k":2}}`, `{"v":{"k":3}}`},
		"whole-value rules": {
			`{"type":"object","properties":{"v":{"type":"object","properties":{"a":{},"b":{}},"enum":[{"a":1,"b":2}],"minProperties":2,"not":{"required":["c"]},"dependentRequired":{"a":["b"]}}},"if":{"required":["w"]},"else":{"required":["z"]}}`,
			"/v/a", `{"v":{"a":1}}`, `{"v":{"b":1}}`},
		"pattern fields": {
			`{"type":"object","patternProperties":{"^k":{"type":"object","properties":{"x":{"type":"string"},"y":{}}}},"additionalProperties":false}`,
			"/k1/x", `{"k1":{"x":"s"}}`, `{"k2":{"x":"s"}}`},
		"tuple": {
			`{"type":"object","properties":{"t":{"type":"array","prefixItems":[{"type":"object","properties":{"a":{}}},{"type":"string"}]}}}`,
			"/t/*/a", `{"t":[{"a":1}]}`, `{"t":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := Project(json.RawMessage(c.doc), []string{c.allow})
			if err != nil {
				t.Fatal(err)
			}
			s := compiled(t, string(doc))
			if got := first(s, c.good); got != "" {
				t.Errorf("%s: %s\n%s", c.good, got, doc)
			}
			if first(s, c.bad) == "" {
				t.Errorf("%s accepted\n%s", c.bad, doc)
			}
		})
	}
}
