package jsonschema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// doubling is a document of a few lines that applies a schema 2^n times to the
// field v.
func doubling(n int, leaf string) string {
	var b strings.Builder
	b.WriteString(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"v":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":%s}}`, n, leaf)
	return b.String()
}

// listed joins count members or elements.
func listed(count int, format string) string {
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprintf(format, fmt.Sprintf("%x", i))
	}
	return strings.Join(all, ",")
}

// Each of these took seconds, and some of them minutes, while a step was one
// application of a schema, whatever the value was that it read. The arguments are
// such as a worker takes for a tool of large arguments.
func TestStepsCountWhatIsRead(t *testing.T) {
	text, names := strings.Repeat("é", 30_000), listed(6000, `"%s"`)
	members := `{` + listed(6000, `"%s":1`) + `}`
	for name, c := range map[string]struct{ doc, v string }{
		"length":          {doubling(16, `{"minLength":1}`), `"` + text + `"`},
		"length escaped":  {doubling(16, `{"maxLength":99999}`), `"` + text + `\n"`},
		"length refused":  {doubling(16, `{"minLength":99999}`), `"` + text + `\n"`},
		"length in oneOf": {strings.ReplaceAll(doubling(14, `{"minLength":99999}`), "allOf", "oneOf"), `"` + text + `\n"`},
		"base64":          {doubling(16, `{"contentEncoding":"base64"}`), `"` + strings.Repeat("QUFB", 15_000) + `"`},
		"format":          {doubling(16, `{"format":"uri"}`), `"http://a/` + strings.Repeat("b", 60_000) + `"`},
		"regex":           {doubling(16, `{"format":"regex"}`), `"` + strings.Repeat("a|b", 15_000) + `"`},
		"names":           {doubling(16, `{"properties":{"a":{}}}`), members},
		"escaped name":    {doubling(16, `{"properties":{"a":{}}}`), `{"` + text + `\n":1}`},
		"needs":           {doubling(12, `{"dependentRequired":{"0":[`+names+`]}}`), members},
		"elements":        {doubling(16, `{"prefixItems":[{}]}`), `[` + names + `]`},
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

// A name may be empty, and be that of a keyword.
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
