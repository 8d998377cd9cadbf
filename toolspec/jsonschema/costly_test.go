package jsonschema

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec/schema/schematest"
)

// TestStepsCountWhatIsRead: each case took seconds or minutes when a step was one application of a
// schema, whatever the size of the value. The arguments have a size that a worker accepts for tools
// with large arguments.
func TestStepsCountWhatIsRead(t *testing.T) {
	text, names := strings.Repeat("é", 30_000), schematest.Listed(6000, `"%s"`)
	members := `{` + schematest.Listed(6000, `"%s":1`) + `}`
	for name, c := range map[string]struct{ doc, v string }{
		"length":          {schematest.Doubling(16, `{"minLength":1}`), `"` + text + `"`},
		"length escaped":  {schematest.Doubling(16, `{"maxLength":99999}`), `"` + text + `\n"`},
		"length refused":  {schematest.Doubling(16, `{"minLength":99999}`), `"` + text + `\n"`},
		"length in oneOf": {strings.ReplaceAll(schematest.Doubling(14, `{"minLength":99999}`), "allOf", "oneOf"), `"` + text + `\n"`},
		"base64":          {schematest.Doubling(16, `{"contentEncoding":"base64"}`), `"` + strings.Repeat("QUFB", 15_000) + `"`},
		"format":          {schematest.Doubling(16, `{"format":"uri"}`), `"http://a/` + strings.Repeat("b", 60_000) + `"`},
		"regex":           {schematest.Doubling(16, `{"format":"regex"}`), `"` + strings.Repeat("a|b", 15_000) + `"`},
		"names":           {schematest.Doubling(16, `{"properties":{"a":{}}}`), members},
		"escaped name":    {schematest.Doubling(16, `{"properties":{"a":{}}}`), `{"` + text + `\n":1}`},
		"needs":           {schematest.Doubling(12, `{"dependentRequired":{"0":[`+names+`]}}`), members},
		"elements":        {schematest.Doubling(16, `{"prefixItems":[{}]}`), `[` + names + `]`},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Compile(json.RawMessage(c.doc))
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			problems := s.Validate(json.RawMessage(`{"v":` + c.v + `}`))
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("%v", took)
			}
			if len(problems) != 1 || problems[0].Kind != KindTooComplex {
				t.Errorf("%.200v, want too much work", problems)
			}
		})
	}
}

// TestPointersThroughOddNames: a name may be empty, or be the name of a keyword.
func TestPointersThroughOddNames(t *testing.T) {
	for ref, want := range map[string]bool{
		"#/properties/": true, "#/properties": false, "#/properties/items": true, "#/properties/items/items": true,
		"#/properties/items/items/": false, "#/items": false, "#/properties//properties/": true,
	} {
		_, err := Compile(json.RawMessage(`{"type":"object","properties":{"":{"properties":{"":{}}},"items":{"items":{}},"r":{"$ref":"` + ref + `"}}}`))
		if (err == nil) != want {
			t.Errorf("%s: %v", ref, err)
		}
	}
}
