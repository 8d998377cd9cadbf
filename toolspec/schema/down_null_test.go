package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// TestNullForGemini: a schema for Gemini accepts null if the document does, or a finding says that
// it allows more.
func TestNullForGemini(t *testing.T) {
	texts := []string{`"type":"string"`, `"type":["string","null"]`, `"type":"null"`, `"type":["string","integer","null"]`}
	lists := []string{`"enum":["x",null]`, `"enum":["x"]`, `"enum":[null]`, `"enum":[1,null]`, `"enum":[1]`, `"const":null`, `"const":"x"`}
	beside := []string{
		`"anyOf":[{"type":"null"},{"type":"string"}]`, `"anyOf":[{"type":"string","minLength":3}]`, `"anyOf":[{"type":"null"}]`,
		`"allOf":[{"type":"string"}]`, `"allOf":[{"type":["string","null"]}]`, `"allOf":[{"enum":["x",null]}]`, `"allOf":[{"enum":["x"]}]`,
		`"oneOf":[{"enum":["x"]},{"enum":[null]}]`,
	}
	var all []string
	for _, a := range append([]string{""}, texts...) {
		for _, b := range append([]string{""}, lists...) {
			for _, c := range append([]string{""}, beside...) {
				parts := slices.DeleteFunc([]string{a, b, c}, func(part string) bool { return part == "" })
				all = append(all, strings.Join(parts, ","))
			}
		}
	}
	for _, field := range all {
		doc := `{"type":"object","properties":{"a":{` + field + `}}}`
		sent, err := Down(json.RawMessage(doc), Gemini)
		if err != nil {
			t.Fatal(err)
		}
		value, err := strictjson.Decode(sent.Document)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := strictjson.Encode(unnull(value))
		if err != nil {
			t.Fatal(err)
		}
		looser := slices.ContainsFunc(sent.Findings, func(f Finding) bool { return f.Effect == Dropped || f.Effect == Loosened })
		accepts, does := first(compiled(t, doc), `{"a":null}`) == "", first(compiled(t, string(plain)), `{"a":null}`) == ""
		if accepts && !does {
			t.Errorf("%s is sent as %s, which refuses null", doc, sent.Document)
		}
		if does && !accepts && !looser {
			t.Errorf("%s is sent as %s, which accepts null: %v", doc, sent.Document, sent.Findings)
		}
	}
	for field, want := range map[string]string{
		`"type":"string","enum":["x",null]`:          `{"enum":["x"],"type":"string"} [/properties/a/enum rewritten]`,
		`"type":["string","null"],"enum":["x"]`:      `{"enum":["x"],"type":"string"} [/properties/a/type rewritten]`,
		`"enum":["x",null]`:                          `{"enum":["x"],"nullable":true,"type":"string"} [/properties/a/enum rewritten]`,
		`"type":["string","null"],"enum":["x",null]`: `{"enum":["x"],"nullable":true,"type":"string"} [/properties/a/type rewritten]`,
	} {
		sent, err := Down(json.RawMessage(`{"type":"object","properties":{"a":{`+field+`}}}`), Gemini)
		if err != nil {
			t.Fatal(err)
		}
		root := jsonschema.Outline(sent.Document)
		written, err := strictjson.Encode(root.Fields["a"].Object)
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, f := range sent.Findings {
			said = append(said, f.Pointer+" "+string(f.Effect))
		}
		if got := fmt.Sprint(string(written), " ", said); got != want {
			t.Errorf("%s: got %s, want %s", field, got, want)
		}
	}
}
