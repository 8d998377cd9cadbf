package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/schema"
)

// TestCheckMask: when a masked text can break the schema, and when it cannot.
func TestCheckMask(t *testing.T) {
	t.Parallel()
	doc := func(fields string) json.RawMessage {
		return json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{` + fields + `},"$defs":{
			"t":{"type":"string"},"u":{"type":"string","format":"email"},
			"tree":{"type":"object","properties":{"name":{"type":"string"},"left":{"$ref":"#/$defs/tree"}}}}}`)
	}
	for _, tc := range []struct{ name, fields, path, want string }{
		{"a text", `"a":{"type":"string","description":"x"}`, "/a", ""},
		{"a text or null", `"a":{"type":["null","string"]}`, "/a", ""},
		{"one of both", `"a":{"anyOf":[{"type":"string"},{"type":"null"}]}`, "/a", ""},
		{"what is open", `"a":true`, "/a", ""},
		{"below what is open", `"a":{}`, "/a/b/c", ""},
		{"elements", `"a":{"type":"array","maxItems":9,"items":{"type":"object","properties":{"m":{"type":"string"}}}}`, "/a/*/m", ""},
		{"values of a map", `"a":{"type":"object","additionalProperties":{"type":"string"}}`, "/a/*", ""},
		{"one value of a map", `"a":{"type":"object","additionalProperties":{"type":"string"}}`, "/a/k", ""},
		{"by a pattern", `"a":{"type":"object","patternProperties":{"^x":{"type":"string"},"^y":{"type":"number"}}}`, "/a/xx", ""},
		{"a reference", `"a":{"$ref":"#/$defs/t"}`, "/a", ""},
		{"a tree", `"a":{"$ref":"#/$defs/tree"}`, "/a/left/left/name", ""},

		{"no pointer", `"a":{"type":"string"}`, "a", "not a JSON pointer"},
		{"nothing", `"a":{"type":"string"}`, "/b", "names nothing"},
		{"nothing that is ever there", `"a":false`, "/a", "names nothing"},
		{"an object", `"a":{"type":"object"}`, "/a", "only texts"},
		{"an object behind a reference", `"a":{"$ref":"#/$defs/tree"}`, "/a", "only texts"},
		{"a number", `"a":{"type":["string","integer"]}`, "/a", "only texts"},
		{"no type", `"a":{"properties":{"b":{"type":"string"}}}`, "/a", `"properties"`},
		{"an object in disguise", `"a":{"type":"object","allOf":[{}]}`, "/a", "only texts"},
		{"fields beside an open part", `"a":{"allOf":[{}],"properties":{"n":{"type":"integer"}}}`, "/a", `"properties"`},
		{"names beside an open part", `"a":{"allOf":[{}],"required":["j@x.com"]}`, "/a", `"required"`},
		{"an open branch of oneOf", `"a":{"oneOf":[{"type":"string"},{}]}`, "/a", "oneOf"},
		{"an open branch of oneOf above", `"a":{"oneOf":[{"type":"object","properties":{"b":{"type":"string"}}},{}]}`, "/a/b", "oneOf"},
		{"an open branch of anyOf", `"a":{"anyOf":[{"type":"string"},{}]}`, "/a", ""},
		{"a format", `"a":{"type":"string","format":"email"}`, "/a", `"format"`},
		{"a format behind a reference", `"a":{"$ref":"#/$defs/u"}`, "/a", `"format"`},
		{"a length in a part", `"a":{"type":"string","allOf":[{"maxLength":3}]}`, "/a", `"maxLength"`},
		{"a pattern of all values", `"a":{"type":"object","properties":{"b":{"type":"string"}},"patternProperties":{"b":{"pattern":"x"}}}`, "/a/b", `"pattern"`},
		{"a list of values", `"a":{"enum":["x","y"]}`, "/a", `"enum"`},
		{"a list of values above", `"a":{"type":"object","properties":{"b":{"type":"string"}},"enum":[{"b":"x"}]}`, "/a/b", `"enum"`},
		{"different elements", `"a":{"type":"array","uniqueItems":true,"items":{"type":"string"}}`, "/a/*", `"uniqueItems"`},
		{"a condition", `"a":{"if":{"properties":{"b":{"const":"x"}}},"properties":{"b":{"type":"string"}}}`, "/a/b", `"if"`},
		{"an element", `"a":{"type":"array","items":{"type":"string"}}`, "/a/0", ""},
		{"an element of a tuple", `"a":{"prefixItems":[{"type":"string"},{"type":"number"}]}`, "/a/0", ""},
		{"an element behind a tuple", `"a":{"prefixItems":[{"type":"string"}],"items":{"type":"string"}}`, "/a/1", ""},
		{"another element of a tuple", `"a":{"prefixItems":[{"type":"string"},{"type":"number"}]}`, "/a/1", "only texts"},
		{"an element by another number", `"a":{"type":"array","items":{"type":"string"}}`, "/a/00", "names nothing"},
		{"no element", `"a":{"type":"array","items":{"type":"string"}}`, "/a/x", "names nothing"},
		{"a number as an element", `"a":{"type":"array","items":{"type":"number"}}`, "/a/0", "only texts"},
		{"a number in a tuple", `"a":{"prefixItems":[{"type":"string"},{"type":"number"}]}`, "/a/*", "only texts"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			root, err := jsonschema.Parse(doc(tc.fields))
			if err != nil {
				t.Fatal(err)
			}
			err = schema.CheckMask(root, tc.path)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}
