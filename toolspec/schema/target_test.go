package schema

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/schema/schematest"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// rich uses every feature in which the formats differ.
const rich = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","description":"Search.",
"required":["query"],"additionalProperties":false,
"$defs":{"page":{"type":"object","properties":{"size":{"type":"integer","minimum":1,"exclusiveMaximum":100},"next":{"$ref":"#/$defs/page"}},"additionalProperties":false},
	"tag":{"type":"string","maxLength":20,"pattern":"^[a-z]+$"}},
"properties":{
	"query":{"type":"string","minLength":1,"description":"What to look for."},
	"mode":{"const":"fast"},
	"level":{"enum":[1,2,3]},
	"since":{"type":["string","null"],"format":"date-time"},
	"site":{"type":"string","format":"uri"},
	"tags":{"type":"array","items":{"$ref":"#/$defs/tag"},"minItems":2,"uniqueItems":true},
	"page":{"$ref":"#/$defs/page"},
	"pair":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false},
	"sort":{"oneOf":[{"type":"string"},{"type":"object","properties":{"by":{"type":"string"},"desc":{"type":"boolean"}},"required":["by"],"additionalProperties":false}]},
	"both":{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer"}}}],"unevaluatedProperties":false},
	"labels":{"type":"object","additionalProperties":{"type":"string"}},
	"any":{}},
"anyOf":[{"required":["mode"]},{"required":["level"]}]}`

func TestSentGolden(t *testing.T) {
	for _, target := range allTargets() {
		sent, err := Down(json.RawMessage(rich), target)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.MarshalIndent(sent, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		file := "testdata/sent." + string(target) + ".json"
		if *update {
			if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(string(want)) != string(got) {
			t.Errorf("%s differs from %s:\n%s", target, file, got)
		}
		again, err := Down(json.RawMessage(rich), target)
		if err != nil || string(again.Document) != string(sent.Document) {
			t.Errorf("%s: other bytes the second time", target)
		}
	}
}

// TestNamesOfDefinitions: each target of a reference has a definition of its own, also if two targets have one name, or if a
// name has the form of the names that are made.
func TestNamesOfDefinitions(t *testing.T) {
	t.Parallel()
	const (
		a = `{"type":"string","description":"a"}`
		b = `{"type":"integer","description":"b"}`
	)
	for _, doc := range []string{
		`"properties":{"node":{"type":"object","description":"a","properties":{"x":{"$ref":"#/$defs/node"}}},"again":{"$ref":"#/properties/node"}},"$defs":{"node":` + b + `}`,
		`"properties":{"x":{"$ref":"#/$defs/s2"},"y":{"$ref":"#/$defs/deep/properties/z"}},"$defs":{"s2":` + a + `,"deep":{"properties":{"z":` + b + `}}}`,
		`"properties":{"x":{"$ref":"#/$defs/s3"},"y":{"$ref":"#/$defs/q"},"z":{"$ref":"#/$defs/deep/properties/z"}},"$defs":{"s3":` + a + `,"q":{"type":"null"},"deep":{"properties":{"z":` + b + `}}}`,
	} {
		for _, target := range allTargets() {
			sent, err := Down(json.RawMessage(`{"type":"object","additionalProperties":false,`+doc+`}`), target)
			if err != nil {
				t.Fatalf("%s: %v", target, err)
			}
			if text := string(sent.Document); !strings.Contains(text, `"description":"a"`) || !strings.Contains(text, `"description":"b"`) {
				t.Errorf("%s: a definition of %s is lost: %s", target, doc, text)
			}
		}
	}
}

// TestSentWords: a document that is sent has no keyword that its target does not accept, at any
// place.
func TestSentWords(t *testing.T) {
	docs := []string{rich}
	for _, c := range schematest.Cases() {
		docs = append(docs, string(c.Document(c.To)))
	}
	for _, doc := range docs {
		for _, target := range allTargets() {
			sent, err := Down(json.RawMessage(doc), target)
			if err != nil {
				t.Fatalf("%s: %v", doc, err)
			}
			value, err := strictjson.Decode(sent.Document)
			if err != nil {
				t.Fatal(err)
			}
			root, _ := value.(map[string]any)
			if root["type"] != "object" {
				t.Errorf("%s: the root of %s is no object", target, sent.Document)
			}
			d := dialects[target]
			for _, keyword := range d.notAtTop {
				if _, there := root[keyword]; there {
					t.Errorf("%s: %s at the root of %s", target, keyword, sent.Document)
				}
			}
			if d.words != nil {
				checkWords(t, target, root)
			}
		}
	}
}

func checkWords(t *testing.T, target Target, s map[string]any) {
	d := dialects[target]
	for keyword, value := range s {
		switch {
		case keyword == "description", keyword == "title", keyword == "nullable" && d.nullable:
		case keyword == "$ref" && d.refs:
			if len(s) > 1 {
				t.Errorf("%s: something beside $ref: %v", target, s)
			}
		case keyword == "$defs" && d.refs, keyword == "properties":
			fields, _ := value.(map[string]any)
			for _, field := range fields {
				checkWords(t, target, field.(map[string]any)) //nolint:forcetypeassert // a table of schemas
			}
		case keyword == "items":
			checkWords(t, target, value.(map[string]any)) //nolint:forcetypeassert // a schema
		case keyword == "anyOf" && d.takes("anyOf"):
			for _, branch := range value.([]any) { //nolint:forcetypeassert // a list of schemas
				checkWords(t, target, branch.(map[string]any)) //nolint:forcetypeassert // a schema
			}
		case keyword == "format":
			if !slices.Contains(d.formats, value.(string)) { //nolint:forcetypeassert // a name
				t.Errorf("%s: format %v", target, value)
			}
		case keyword == "type" && d.nullable:
			if kind, ok := value.(string); !ok || kind == "null" {
				t.Errorf("%s: type %v", target, value)
			}
		case keyword == "enum" && d.textEnum:
			for _, member := range value.([]any) { //nolint:forcetypeassert // a list
				if _, ok := member.(string); !ok {
					t.Errorf("%s: enum %v", target, value)
				}
			}
		case !d.takes(keyword):
			t.Errorf("%s: %s is sent", target, keyword)
		}
	}
	if fields, ok := s["properties"].(map[string]any); ok && d.strict {
		required, _ := s["required"].([]any)
		if s["additionalProperties"] != false || len(required) != len(fields) {
			t.Errorf("%s: an object that is not strict: %v", target, s)
		}
	}
}

// TestStrictReports: the strict form reports what it cannot express, with its place.
func TestStrictReports(t *testing.T) {
	for doc, want := range map[string]string{
		`"properties":{"m":{"type":"object","additionalProperties":{"type":"string"}}},"additionalProperties":false`:                                                        "/properties/m/additionalProperties",
		`"properties":{"m":{"type":"object"}},"additionalProperties":false`:                                                                                                 "/properties/m/additionalProperties",
		`"properties":{"m":{}},"additionalProperties":false`:                                                                                                                "/properties/m/type",
		`"properties":{"m":{"type":"array"}},"additionalProperties":false`:                                                                                                  "/properties/m/items",
		`"properties":{"m":{"type":"string"}}`:                                                                                                                              "/additionalProperties",
		`"properties":{"m":{"items":{"properties":{"x":{"type":"string"}}}}},"additionalProperties":false`:                                                                  "/properties/m/type",
		`"properties":{"m":{"type":"object","patternProperties":{"^x":{"type":"string"}}}},"additionalProperties":false`:                                                    "/properties/m/additionalProperties",
		`"properties":{"m":{"type":"object","properties":{"a":{"type":"string"}},"patternProperties":{"^x":{}},"additionalProperties":false}},"additionalProperties":false`: "/properties/m/additionalProperties",
	} {
		form, err := Down(json.RawMessage(`{"type":"object",`+doc+`}`), OpenAIStrict)
		if err != nil {
			t.Errorf("%s: %v", doc, err)
			continue
		}
		if !slices.ContainsFunc(form.Findings, func(f Finding) bool { return f.Effect == Tightened && f.Pointer == want }) {
			t.Errorf("%s: got %+v", doc, form.Findings)
		}
	}
}

func TestRestore(t *testing.T) {
	form, err := Down(json.RawMessage(`{"type":"object","additionalProperties":false,"required":["r"],"properties":{
		"r":{"type":["string","null"]},"o":{"type":"string"},"n":{"type":["string","null"]},
		"l":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer"}},"additionalProperties":false}}}}`), OpenAIStrict)
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{"r":null,"o":null,"n":null,"l":null}`:                         `{"r":null}`,
		`{"r":"a","o":"b","n":{"value":null},"l":[{"x":null},{"x":1}]}`: `{"l":[{},{"x":1}],"n":null,"o":"b","r":"a"}`,
		`{"r":"a","n":{"value":"v"}}`:                                   `{"n":"v","r":"a"}`,
		`{"r":12345678901234567890}`:                                    `{"r":12345678901234567890}`,
		`{"z":null}`:                                                    `{"z":null}`,
		`[null]`:                                                        `[null]`,
	} {
		got, err := form.Mapping.Restore(json.RawMessage(args))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v", args, got, err)
		}
	}
	for _, args := range []string{`{"n":"s3cret"}`, `{"n":{"value":1,"s3cret":2}}`, `{"n":{"other":"s3cret"}}`, `{`, `{"o":1,"o":2}`} {
		if _, err := form.Mapping.Restore(json.RawMessage(args)); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v", args, err)
		}
	}
}

// TestStrictAlternativesAgree: a field that is nullable in one alternative and optional in another
// is wrapped in both, because a mapping does not evaluate schemas.
func TestStrictAlternativesAgree(t *testing.T) {
	doc := `{"type":"object","additionalProperties":false,"required":["v"],"properties":{"v":{"anyOf":[
		{"type":"object","properties":{"k":{"const":"a"},"f":{"type":"string"}},"required":["k"],"additionalProperties":false},
		{"type":"object","properties":{"k":{"const":"b"},"f":{"type":["string","null"]}},"required":["k","f"],"additionalProperties":false}]}}}`
	form, err := Down(json.RawMessage(doc), OpenAIStrict)
	if err != nil {
		t.Fatal(err)
	}
	strict := compiled(t, string(form.Document))
	for _, args := range []string{`{"v":{"k":"a"}}`, `{"v":{"k":"a","f":"x"}}`, `{"v":{"f":null,"k":"b"}}`} {
		encoded := strictArgs(t, doc, OpenAIStrict, form.Mapping, args)
		if wrong := first(strict, string(encoded)); wrong != "" {
			t.Errorf("%s: %s: %s", args, encoded, wrong)
		}
		back, err := form.Mapping.Restore(encoded)
		got, _ := strictjson.Digest(back)
		if want, _ := strictjson.Digest([]byte(args)); err != nil || got != want {
			t.Errorf("%s came back as %s, %v", args, back, err)
		}
	}
}

// TestSentAlternativesAtTheRoot: alternatives at the root become one list of fields. A finding says
// if some valid call cannot be made.
func TestSentAlternativesAtTheRoot(t *testing.T) {
	doc := func(rest string) json.RawMessage {
		return json.RawMessage(`{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}},"required":["a","k"]` + rest +
			`},{"properties":{"b":{"type":"string"},"k":{"type":"integer"}},"required":["b","k"]` + rest + `}]}`)
	}
	for _, target := range allTargets() {
		for rest, want := range map[string]bool{``: true, `,"additionalProperties":false`: dialects[target].strict} {
			sent, err := Down(doc(rest), target)
			if err != nil {
				t.Fatal(err)
			}
			if got := tightened(sent.Findings); got != want {
				t.Errorf("%s, %s: tightened is %v: %+v", target, rest, got, sent.Findings)
			}
			var root struct {
				Properties map[string]any
				Required   []string
			}
			if err := json.Unmarshal(sent.Document, &root); err != nil {
				t.Fatal(err)
			}
			if len(root.Properties) != 3 || !slices.Contains(root.Required, "k") {
				t.Errorf("%s: %s", target, sent.Document)
			}
		}
	}
}

// allTargets lists all targets.
func allTargets() []Target {
	return []Target{OpenAI, OpenAIStrict, Anthropic, AnthropicStrict, Gemini, Ollama}
}
