package schema

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/schema/schematest"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// TestNoCompositionStaysAtTheRoot: a composition inside a part of a composition does not come to
// the root, where the providers refuse it.
func TestNoCompositionStaysAtTheRoot(t *testing.T) {
	for name, c := range map[string]struct {
		doc   string
		lossy bool     // openai cannot take all of it
		calls []string // valid
		text  string   // of the description for openai, which accepts least
	}{
		"alternatives in a part": {
			`"properties":{"id":{"type":"string"},"name":{"type":"string"}},"allOf":[{"anyOf":[{"required":["id"]},{"required":["name"]}]}]`,
			true, []string{`{"id":"a"}`, `{"name":"a"}`}, "",
		},
		"parts in a part": {
			`"allOf":[{"allOf":[{"properties":{"a":{"type":"string"}}},{"allOf":[{"required":["a"]}]}]}]`, false, []string{`{"a":"x"}`}, "",
		},
		"alternatives behind a reference": {
			`"allOf":[{"$ref":"#/$defs/b"},{"$ref":"#/$defs/b"}],"$defs":{"b":{"oneOf":[{"properties":{"k":{"const":1}},"required":["k"]},{"properties":{"k":{"const":2}},"required":["k"]}]}}`,
			true, []string{`{"k":1}`, `{"k":2}`}, "",
		},
		"alternatives twice": {
			`"anyOf":[{"required":["a"]},{"required":["b"]}],"allOf":[{"anyOf":[{"required":["c"]},{"required":["d"]}]},{"oneOf":[{"required":["e"]},{"required":["f"]}]}]`,
			true, []string{`{"a":1,"c":1,"e":1}`, `{"b":1,"d":1,"f":1}`}, "",
		},
		"not in a part": {
			`"allOf":[{"not":{"required":["b"]}},{"description":"A part."}]`, true, []string{`{"a":1}`}, "A part.\n{not: {\"required\":[\"b\"]}}",
		},
		"values in a part": {
			`"allOf":[{"enum":[{"a":1},{"b":1}]},{"allOf":[{"const":{"a":1}}]}]`, true, []string{`{"a":1}`}, "{enum: [{\"a\":1},{\"b\":1}]}\n{const: {\"a\":1}}",
		},
		"a reference into a part": {
			`"allOf":[{"properties":{"a":{"type":"integer"},"c":{"$ref":"#/allOf/0/properties/a"}}}],"properties":{"b":{"$ref":"#/allOf/0/properties/a"}}`,
			false, []string{`{"a":1,"b":1,"c":1}`}, "",
		},
	} {
		for _, target := range allTargets() {
			sent, err := Down(json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",`+c.doc+`}`), target)
			if err != nil {
				t.Errorf("%s, %s: %v", name, target, err)
				continue
			}
			value, err := strictjson.Decode(sent.Document)
			if err != nil {
				t.Fatal(err)
			}
			root, _ := value.(map[string]any)
			for _, keyword := range dialects[target].notAtTop {
				if _, there := root[keyword]; there {
					t.Errorf("%s, %s: %s at the root of %s", name, target, keyword, sent.Document)
				}
			}
			if strings.Contains(string(sent.Document), "null}") {
				t.Errorf("%s, %s: %s", name, target, sent.Document)
			}
			if c.lossy && target == OpenAI && len(sent.Findings) == 0 {
				t.Errorf("%s: no finding for %s", name, sent.Document)
			}
			if text, _ := root["description"].(string); target == OpenAI && text != c.text {
				t.Errorf("%s: described as %q", name, text)
			}
			for _, call := range c.calls {
				if problem := first(compiled(t, string(sent.Document)), call); problem != "" && !tightened(sent.Findings) {
					t.Errorf("%s, %s: %s is refused by %s: %s", name, target, call, sent.Document, problem)
				}
			}
		}
	}
}

// TestEachPartIsJoinedOnce: a short document can apply one part to the root many times.
func TestEachPartIsJoinedOnce(t *testing.T) {
	doc := strings.Replace(schematest.Doubling(16, `{"properties":{"leaf":{"type":"string"}}}`), `"type":"object"`, `"type":"object","allOf":[{"$ref":"#/$defs/d0"}]`, 1)
	sent, err := Down(json.RawMessage(doc), OpenAI)
	if err != nil {
		t.Fatal(err)
	}
	root := compiled(t, string(sent.Document))
	if first(root, `{"leaf":"x"}`) != "" || first(root, `{"leaf":1}`) == "" {
		t.Errorf("got %s", sent.Document)
	}
	if slices.ContainsFunc(sent.Findings, func(f Finding) bool { return f.Effect == Dropped }) {
		t.Errorf("got %+v", sent.Findings)
	}
}
