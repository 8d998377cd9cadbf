package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCompileRefuses(t *testing.T) {
	nested := strings.Repeat(`{"type":"object","properties":{"a":`, 40) + `{}` + strings.Repeat(`}}`, 40)
	for name, c := range map[string]struct{ doc, pointer string }{
		"not JSON":            {`{`, ""},
		"repeated keyword":    {`{"type":"object","type":"object"}`, "/type"},
		"too big":             {`{"type":"object","description":"` + strings.Repeat("x", 10<<20) + `"}`, ""},
		"too deep":            {nested, ""},
		"boolean root":        {`true`, ""},
		"array root":          {`{"type":"array"}`, ""},
		"string root":         {`{"type":"string"}`, ""},
		"root of two types":   {`{"type":["object","null"]}`, ""},
		"no type":             {`{"properties":{"a":{}}}`, ""},
		"SP-29, seed example": {`{"query":{"type":"string","description":"q"},"limit":{"type":"number"},"required":["query"]}`, ""},
		"null property":       {`{"type":"object","properties":{"a":null}}`, "/properties/a"},
		"null definition":     {`{"type":"object","$defs":{"a":null}}`, "/$defs/a"},
		"string property":     {`{"type":"object","properties":{"a":"string"}}`, "/properties/a"},
		"properties list":     {`{"type":"object","properties":[]}`, "/properties"},
		"allOf object":        {`{"type":"object","allOf":{}}`, "/allOf"},
		"unknown type":        {`{"type":"object","properties":{"a":{"type":"objekt"}}}`, "/properties/a/type"},
		"required string":     {`{"type":"object","required":"a"}`, "/required"},
		"required twice":      {`{"type":"object","required":["a","a"]}`, "/required"},
		"negative length":     {`{"type":"object","properties":{"a":{"minLength":-1}}}`, "/properties/a/minLength"},
		"fault below $defs":   {`{"type":"object","$defs":{"x":{"items":{"type":"objekt"}}}}`, "/$defs/x/items/type"},
		"fault in a tuple":    {`{"type":"object","properties":{"a":{"prefixItems":[{},{"enum":3}]}}}`, "/properties/a/prefixItems/1/enum"},
		"empty enum":          {`{"type":"object","properties":{"a":{"enum":[]}}}`, "/properties/a/enum"},
		"unknown dialect":     {`{"$schema":"https://example.com/meta","type":"object"}`, "/$schema"},
		"draft-03":            {`{"$schema":"http://json-schema.org/draft-03/schema#","type":"object"}`, "/$schema"},
		"dialect below root":  {`{"type":"object","properties":{"a":{"$schema":"http://json-schema.org/draft-07/schema#"}}}`, "/properties/a/$schema"},
		"nested $id":          {`{"type":"object","properties":{"a":{"$id":"b"}}}`, "/properties/a/$id"},
		"dynamic reference":   {`{"type":"object","properties":{"a":{"$dynamicRef":"#x"}}}`, "/properties/a/$dynamicRef"},
		"root $ref":           {`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{}}}`, "/$ref"},
		"missing target":      {`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}`, "/properties/a/$ref"},
		"missing anchor":      {`{"type":"object","properties":{"a":{"$ref":"#a"}}}`, "/properties/a/$ref"},
		"target no schema":    {`{"type":"object","x":{"y":{}},"properties":{"a":{"$ref":"#/x/y"}}}`, "/properties/a/$ref"},
		"http reference":      {`{"type":"object","properties":{"a":{"$ref":"http://localhost:1/a.json"}}}`, "/properties/a/$ref"},
		"file reference":      {`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`, "/properties/a/$ref"},
		"relative reference":  {`{"$id":"https://example.com/x","type":"object","properties":{"a":{"$ref":"other#/$defs/a"}}}`, "/properties/a/$ref"},
		"pointer without #":   {`{"type":"object","properties":{"a":{"$ref":"/properties/b"},"b":{}}}`, "/properties/a/$ref"},
		"$ref number":         {`{"type":"object","properties":{"a":{"$ref":3}}}`, "/properties/a/$ref"},
		"lookahead":           {`{"type":"object","properties":{"a":{"pattern":"(?=x)"}}}`, "/properties/a"},
		"bad property regexp": {`{"type":"object","patternProperties":{"(":{}}}`, ""},
		"late dependencies":   {`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","dependencies":{"a":["b"]}}`, "/dependencies"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(json.RawMessage(c.doc))
			var refusal *Refusal
			if !errors.As(err, &refusal) {
				t.Fatalf("got %v", err)
			}
			if c.pointer != "" && refusal.Pointer != c.pointer {
				t.Errorf("got pointer %s (%v)", refusal.Pointer, err)
			}
			if len(err.Error()) > 600 {
				t.Errorf("message of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestCompileKeepsDocumentAndDigest(t *testing.T) {
	doc := json.RawMessage(` {"type":"object", "properties":{"b":{},"a":{"maximum":1.0}}}`)
	s, err := Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	same := compiled(t, `{"properties":{"a":{"maximum":1},"b":{}},"type":"object"}`)
	other := compiled(t, `{"properties":{"a":{"maximum":2},"b":{}},"type":"object"}`)
	if s.Digest() != same.Digest() || s.Digest() == other.Digest() || len(s.Digest()) != 64 {
		t.Errorf("digests %s %s %s", s.Digest(), same.Digest(), other.Digest())
	}
	doc[2] = 'x'
	s.Document()[3] = 'x'
	if got := string(s.Document()); got != ` {"type":"object", "properties":{"b":{},"a":{"maximum":1.0}}}` {
		t.Errorf("document changed: %s", got)
	}
}

func TestCompileTakesLocalRecursion(t *testing.T) {
	s := compiled(t, `{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}},"additionalProperties":false}`)
	if got := first(s, `{"name":"a","children":[{"name":"b","children":[{"name":7}]}]}`); got != "Invalid type for field: children/0/children/0/name" {
		t.Errorf("got %q", got)
	}
	deep := strings.Repeat(`{"children":[`, 31) + strings.Repeat(`]}`, 31)
	if got := first(s, deep); got != "" {
		t.Errorf("got %q", got)
	}
	if got := first(s, `{"children":[`+deep+`]}`); got != "" {
		t.Errorf("depth 64: got %q", got)
	}
	if p := s.Validate(json.RawMessage(`{"children":[{"children":[` + deep + `]}]}`)); len(p) != 1 || p[0].Kind != KindTooComplex {
		t.Errorf("depth 66: got %v", p)
	}
}

func TestDialectsAndAnnotations(t *testing.T) {
	for _, dialect := range []string{
		"http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
	} {
		s := compiled(t, fmt.Sprintf(`{"$schema":%q,"$id":"https://example.com/x","type":"object","definitions":{"n":{"type":"integer"}},
			"properties":{"n":{"description":"n","$ref":"#/definitions/n"}},"required":["n"]}`, dialect))
		if got := first(s, `{"n":"x"}`); got != "Invalid type for field: n" {
			t.Errorf("%s: got %q", dialect, got)
		}
	}
}

// TestReferencesByTheOwnID: a reference by the $id of the document resolves, also if the $id is relative.
func TestReferencesByTheOwnID(t *testing.T) {
	for _, c := range []struct {
		id, ref string
		ok      bool
	}{
		{"https://example.com/d/tool.json", "https://example.com/d/tool.json#/$defs/n", true},
		{"https://example.com/d/tool.json", "tool.json#/$defs/n", true},
		{"https://example.com/d/tool.json", "/tool.json#/$defs/n", false},
		{"urn:uuid:5d6c9b0a-0000-4000-8000-000000000000", "urn:uuid:5d6c9b0a-0000-4000-8000-000000000000#/$defs/n", true},
		{"tool.json", "tool.json#/$defs/n", true},
		{"d/tool.json", "d/tool.json#/$defs/n", true},
		{"tool.json?v=1", "tool.json?v=1#/$defs/n", true},
		{"tool.json?v=1", "tool.json#/$defs/n", false},
		{"tool.json", "other.json#/$defs/n", false},
		{"tool.json", "../tool.json#/$defs/n", false},
		{"tool.json", "https://example.com/tool.json#/$defs/n", false},
	} {
		s, err := Compile(json.RawMessage(fmt.Sprintf(`{"$id":%q,"type":"object","properties":{"a":{"$ref":%q}},"$defs":{"n":{"type":"integer"}}}`, c.id, c.ref)))
		if (err == nil) != c.ok {
			t.Errorf("%s in %s: %v", c.ref, c.id, err)
		}
		if err == nil && (first(s, `{"a":1}`) != "" || first(s, `{"a":"x"}`) == "") {
			t.Errorf("%s in %s leads elsewhere", c.ref, c.id)
		}
	}
}
