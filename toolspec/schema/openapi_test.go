package schema

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// TestOpenAPIWritten: no form of an OpenAPI 3.0 document has keywords of that dialect, and each
// form has their meaning: nullable accepts null, and the bound is exclusive.
func TestOpenAPIWritten(t *testing.T) {
	doc := json.RawMessage(`{"$schema":"` + jsonschema.OpenAPI30 + `","type":"object","required":["n","age"],"properties":{
		"n":{"type":"string","nullable":true},
		"age":{"type":"number","minimum":0,"exclusiveMinimum":true}}}`)
	closed, _, err := Close(doc)
	if err != nil {
		t.Fatal(err)
	}
	open, _, err := Close(json.RawMessage(strings.Replace(string(doc), `"type":"object"`, `"type":"object","additionalProperties":true`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	projected, err := Project(doc, []string{"/n", "/age"})
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]json.RawMessage{"closed": closed, "open": open, "projected": projected}
	for _, target := range []Target{OpenAI, OpenAIStrict, Anthropic, AnthropicStrict, Ollama} {
		sent, err := Down(doc, target)
		if err != nil {
			t.Fatal(err)
		}
		forms[string(target)] = sent.Document
	}
	for name, form := range forms {
		if strings.Contains(string(form), "nullable") || strings.Contains(string(form), "openapis") {
			t.Errorf("%s: %s", name, form)
		}
		s := compiled(t, string(form))
		bounds := name != string(AnthropicStrict) && name != string(Ollama) // these have no bounds of numbers
		for args, want := range map[string]bool{
			`{"n":null,"age":1}`: true, `{"n":"x","age":1}`: true, `{"n":1,"age":1}`: false, `{"n":null,"age":0}`: !bounds,
		} {
			if got := len(s.Validate(json.RawMessage(args))) == 0; got != want {
				t.Errorf("%s, %s: %s is accepted: %v", name, form, args, got)
			}
		}
	}
	sent, err := Down(doc, Gemini)
	if err != nil || !strings.Contains(string(sent.Document), `"n":{"nullable":true,"type":"string"}`) {
		t.Errorf("%s %v", sent.Document, err)
	}
}

// TestLintNullable: Lint reports a nullable without effect.
func TestLintNullable(t *testing.T) {
	list, err := Lint(json.RawMessage(`{"$schema":"` + jsonschema.OpenAPI30 + `","type":"object","properties":{
		"a":{"allOf":[{"type":"string"}],"nullable":true},"b":{"type":"string","nullable":true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	list = slices.DeleteFunc(list, func(f Finding) bool { return f.Keyword != "nullable" })
	if len(list) != 1 || list[0].Pointer != "/properties/a/nullable" || list[0].Effect != Ignored {
		t.Errorf("%v", list)
	}
}
