package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// TestReferencesToSchemasWithoutAPlace: a reference keeps its target if the target has no place of its own in a document
// that is written as 2020-12.
func TestReferencesToSchemasWithoutAPlace(t *testing.T) {
	const (
		draft07   = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object",`
		draft2019 = `{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object",`
		composed  = `"allOf":[{"properties":{"q":{}}}],`
	)
	for doc, c := range map[string]struct{ good, wrong []string }{
		draft07 + composed + `"properties":{"t":{"additionalItems":{"type":"string"}},"a":{"$ref":"#/properties/t/additionalItems"}}}`: {
			[]string{`{"a":"x","q":1}`, `{"t":[1]}`}, []string{`{"a":{"q":1}}`, `{"a":1}`},
		},
		draft07 + composed + `"definitions":{"s1":{"type":"integer"}},"properties":{"t":{"additionalItems":{"type":"object","properties":{"n":{"$ref":"#/properties/t/additionalItems"}},"required":["n"]}},` +
			`"a":{"$ref":"#/properties/t/additionalItems/properties/n"},"b":{"$ref":"#/definitions/s1"}},"not":{"required":["z"]}}`: {
			[]string{`{"b":1}`}, []string{`{"a":{}}`, `{"a":{"n":{}}}`, `{"b":"x"}`, `{"a":{"n":{"n":1}}}`},
		},
		draft07 + composed + `"definitions":{"d":{"type":"object"}},"properties":{"a":{"$ref":"#/definitions/d","properties":{"b":{"type":"integer"}}},"c":{"$ref":"#/properties/a/properties/b"}}}`: {
			[]string{`{"a":{"b":"x"},"c":1}`}, []string{`{"a":1}`, `{"c":"x"}`},
		},
		draft07 + composed + `"definitions":{"n":{"type":"boolean"}},"properties":{"a":{"$ref":"#/properties/t/additionalItems/properties/n"},"b":{"$ref":"#/properties/t/additionalItems"},` +
			`"c":{"$ref":"#/definitions/n"},"t":{"additionalItems":{"type":"object","properties":{"n":{"type":"integer"}}}}}}`: {
			[]string{`{"a":1,"b":{"n":1},"c":true}`}, []string{`{"a":"x"}`, `{"b":{"n":"x"}}`, `{"c":1}`},
		},
		draft07 + `"anyOf":[{"properties":{"id":{"type":"string"}},"required":["id"]},{"properties":{"id":{"$ref":"#/anyOf/0/properties/id"},"next":{"$ref":"#/anyOf/0"}},"required":["id","next"]}]}`: {
			[]string{`{"id":"x"}`, `{"id":"x","next":{"id":"y"}}`}, []string{`{"id":1}`, `{}`},
		},
		draft2019 + `"anyOf":[{},{"properties":{"q":{}}}],"dependencies":{"a":{"required":["b"]},"c":["d"]},"dependentSchemas":{"a":{"required":["e"]},"c":{"required":["f"]}},"properties":{"p":{"$ref":"#/dependencies/a"},"r":{"$ref":"#/dependentSchemas/a"}}}`: {
			[]string{`{"a":1,"b":1,"e":1}`, `{"p":{"b":1},"r":{"e":1}}`, `{"c":1,"d":1,"f":1}`},
			[]string{`{"a":1,"b":1}`, `{"a":1,"e":1}`, `{"p":{"e":1}}`, `{"r":{"b":1}}`, `{"c":1,"d":1}`, `{"c":1,"f":1}`},
		},
	} {
		written := map[string]json.RawMessage{"the original": json.RawMessage(doc)}
		sent, err := Down(json.RawMessage(doc), Anthropic)
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		written["the sent document"] = sent.Document
		if strings.HasPrefix(doc, draft07) { // Close writes 2019-09 as it is
			if written["the closed document"], _, err = Close(json.RawMessage(doc)); err != nil {
				t.Fatalf("%s: %v", doc, err)
			}
		}
		for form, document := range written {
			s, err := jsonschema.Compile(document)
			if err != nil {
				t.Errorf("%s %s: %v", form, document, err)
				continue
			}
			for _, args := range c.good {
				if problem := first(s, args); problem != "" {
					t.Errorf("%s %s: %s: %s", form, document, args, problem)
				}
			}
			for _, args := range c.wrong {
				if first(s, args) == "" {
					t.Errorf("%s %s accepts %s", form, document, args)
				}
			}
		}
	}
}
