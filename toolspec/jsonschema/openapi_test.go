package jsonschema

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestOpenAPI30: a document of OpenAPI 3.0 may use nullable, the boolean bounds of draft-04 and the
// annotations of OpenAPI. Without the dialect nullable is refused.
func TestOpenAPI30(t *testing.T) {
	const doc = `{"$schema":"https://spec.openapis.org/oas/3.0/dialect/base","type":"object","discriminator":{"propertyName":"n"},"properties":{
		"n":{"type":"string","nullable":true,"example":"x","xml":{"name":"n"}},
		"plain":{"type":"string","nullable":false},
		"kind":{"type":"string","nullable":true,"enum":["a","b"]},
		"kinds":{"type":"string","nullable":true,"enum":["a",null]},
		"age":{"type":"integer","minimum":0,"exclusiveMinimum":true,"nullable":true},
		"list":{"type":"array","items":{"type":"number","nullable":true}},
		"ref":{"$ref":"#/definitions/r","nullable":true}},
		"definitions":{"r":{"type":"string"}}}`
	for _, dialect := range []string{OpenAPI30, "https://spec.openapis.org/oas/3.0/dialect/2024-10-18"} {
		s, err := Compile(json.RawMessage(strings.ReplaceAll(doc, OpenAPI30, dialect)))
		if err != nil {
			t.Fatal(err)
		}
		for args, want := range map[string]bool{
			`{"n":null}`: true, `{"n":"x"}`: true, `{"n":1}`: false, `{"plain":null}`: false,
			`{"kind":null}`: false, `{"kind":"a"}`: true, `{"kinds":null}`: true,
			`{"age":null}`: true, `{"age":1}`: true, `{"age":0}`: false,
			`{"list":[1,null]}`: true, `{"list":["x"]}`: false, `{"ref":null}`: false,
		} {
			if got := len(s.Validate(json.RawMessage(args))) == 0; got != want {
				t.Errorf("%s: %s is accepted: %v", dialect, args, got)
			}
		}
	}
	outline := Outline(json.RawMessage(doc))
	if kinds := outline.Fields["n"].Names("type"); len(kinds) != 2 || kinds[1] != "null" {
		t.Errorf("the outline has the types %v", kinds)
	}
	for bad, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string","nullable":true}}}`:                                        "/properties/a/nullable",
		`{"$schema":"` + OpenAPI31 + `","type":"object","properties":{"a":{"type":"string","nullable":true}}}`:          "/properties/a/nullable",
		`{"$schema":"` + OpenAPI31 + `","type":"object","properties":{"a":{"type":"number","exclusiveMinimum":true}}}`:  "/properties/a/exclusiveMinimum",
		`{"$schema":"` + OpenAPI30 + `","type":"object","properties":{"a":{"type":"string","nullable":"yes"}}}`:         "/properties/a/nullable",
		`{"$schema":"` + OpenAPI30 + `","type":"object","nullable":true}`:                                               "the root must say",
		`{"$schema":"` + OpenAPI30 + `","type":"object","properties":{"a":{"const":1}}}`:                                "/properties/a/const",
		`{"$schema":"https://spec.openapis.org/oas/4.0/dialect/base","type":"object","properties":{"a":{"const":"x"}}}`: "OpenAPI 3.0 and 3.1",
	} {
		if _, err := Compile(json.RawMessage(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	s, err := Compile(json.RawMessage(`{"$schema":"` + OpenAPI31 + `","type":"object","properties":{"a":{"type":["string","null"],"example":"x"}}}`))
	if err != nil || s.Draft() != Draft2020 {
		t.Errorf("%v %v", s, err)
	}
}
