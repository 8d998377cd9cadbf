package jsonschema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

const ruleDoc = `{"type":"object","additionalProperties":false,"required":["n","a.b"],"properties":{
	"n":{"type":"number","minimum":1,"maximum":10,"multipleOf":0.5},
	"x":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1},
	"a.b":{"type":"string","minLength":2,"maxLength":10,"pattern":"^[a-z]+$"},
	"e":{"enum":["a","b",3]},
	"c":{"const":{"k":1}},
	"d":{"type":"string","format":"date-time"},
	"u":{"type":"string","format":"uuid"},
	"m":{"type":"string","format":"email"},
	"r":{"type":"string","format":"uri"},
	"l":{"type":"array","minItems":1,"maxItems":2,"uniqueItems":true,"items":{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}},"additionalProperties":false}},
	"o":{"type":"object","minProperties":1,"maxProperties":1,"additionalProperties":{"type":"boolean"},"propertyNames":{"maxLength":3}},
	"p":{"type":"object","patternProperties":{"^k":{"type":"integer"}},"additionalProperties":false},
	"z":{"oneOf":[{"type":"string","maxLength":1},{"type":"null"}]},
	"any":{"anyOf":[{"type":"integer"},{"type":"string"}]},
	"two":{"oneOf":[{"type":"integer"},{"type":"number"}]},
	"not":{"not":{"type":"string"}},
	"if":{"type":"object","if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}},
	"dep":{"type":"object","dependentRequired":{"a":["b"]}},
	"all":{"allOf":[{"type":"integer"},{"maximum":3}]},
	"t":{"type":"array","prefixItems":[{"type":"string"}],"items":false},
	"has":{"type":"array","contains":{"type":"string"}},
	"b64":{"type":"string","contentEncoding":"base64"},
	"never":false}}`

func TestValidate(t *testing.T) {
	s := compiled(t, ruleDoc)
	for instance, want := range map[string]string{
		``:                              "",
		`"n":7`:                         "",
		`"n":"7"`:                       "Invalid type for field: n",
		`"n":0.5`:                       "Invalid value for field: n (must be ≥ 1)",
		`"n":11`:                        "Invalid value for field: n (must be ≤ 10)",
		`"n":1.3`:                       "Invalid value for field: n (must be a multiple of 0.5)",
		`"x":0`:                         "Invalid value for field: x (must be > 0)",
		`"x":1`:                         "Invalid value for field: x (must be < 1)",
		`"a.b":"x"`:                     "Invalid value for field: a.b (shorter than 2)",
		`"a.b":"xxxxxxxxxxx"`:           "Invalid value for field: a.b (longer than 10)",
		`"a.b":"XX"`:                    `Invalid value for field: a.b (must match "^[a-z]+$")`,
		`"e":"s3cret"`:                  `Invalid value for field: e (must be one of "a", "b", 3)`,
		`"e":3.0`:                       "",
		`"c":{"k":2}`:                   `Invalid value for field: c (must be {"k":1})`,
		`"d":"yesterday"`:               "Invalid value for field: d (must have the format date-time)",
		`"u":"1"`:                       "Invalid value for field: u (must have the format uuid)",
		`"m":"s3cret"`:                  "Invalid value for field: m (must have the format email)",
		`"r":"s3cret"`:                  "Invalid value for field: r (must have the format uri)",
		`"l":[]`:                        "Invalid value for field: l (fewer than 1 entries)",
		`"l":[{"id":1},{"id":1}]`:       "Invalid value for field: l (entries must differ)",
		`"l":[{"id":1},{}]`:             "Missing required field: l/1/id",
		`"l":[{"id":1.5}]`:              "Invalid type for field: l/0/id",
		`"l":[{"id":1,"s3cr":1}]`:       `Unknown field: "l/0/s3cr"`,
		`"l":{}`:                        "Invalid type for field: l",
		`"o":{}`:                        "Invalid value for field: o (fewer than 1 fields)",
		`"o":{"a":true,"b":true}`:       "Invalid value for field: o (more than 1 fields)",
		`"o":{"a":"s3cret"}`:            "Invalid type for field: o/a",
		`"o":{"long":true}`:             "Invalid value for field: o (a field name is not allowed)",
		`"p":{"k1":"s3cret"}`:           "Invalid type for field: p/k1",
		`"p":{"x":1}`:                   `Unknown field: "p/x"`,
		`"z":null`:                      "",
		`"z":7`:                         "Invalid type for field: z",
		`"z":"s3cret"`:                  "Invalid value for field: z (longer than 1)",
		`"any":true`:                    "Invalid type for field: any",
		`"two":1`:                       "Invalid value for field: two (matches more than one of the allowed forms)",
		`"not":"s3cret"`:                "Invalid value for field: not (matches a forbidden form)",
		`"if":{"a":1}`:                  "Missing required field: if/b",
		`"if":{}`:                       "Missing required field: if/c",
		`"dep":{"a":1}`:                 "Missing required field: dep/b",
		`"all":4`:                       "Invalid value for field: all (must be ≤ 3)",
		`"t":["a",1]`:                   "Invalid value for field: t/1 (nothing is allowed here)",
		`"has":[1]`:                     "Invalid value for field: has (number of matching entries)",
		`"b64":"***"`:                   "Invalid value for field: b64 (must be base64)",
		`"never":1`:                     `Unknown field: "never"`,
		`"s3cr~/":1`:                    `Unknown field: "s3cr~0~1"`,
		`"\u0007\"":1`:                  `Unknown field: "\a\""`,
		`"n":7,"n":8`:                   "Invalid JSON: repeated object key at n",
		`"any":1e999`:                   "Number is not exact, send a string instead: any",
		`"a.b":"s3cret!","zzz":1,"e":0`: `Invalid value for field: a.b (must match "^[a-z]+$")`,
	} {
		full := `{` + instance
		if !strings.Contains(instance, `"n":`) {
			full = `{"n":1,` + instance
		}
		if !strings.Contains(instance, `"a.b"`) {
			full += `,"a.b":"ok"`
		}
		full = strings.NewReplacer(`{,`, `{`, `,,`, `,`, `,}`, `}`).Replace(full + `}`)
		problems := s.Validate(json.RawMessage(full))
		got := ""
		if problems != nil {
			got = problems[0].Message
		}
		if got != want {
			t.Errorf("%s:\n got %q\nwant %q", full, got, want)
		}
		for _, p := range problems {
			if strings.Contains(p.Message, "s3cret") {
				t.Errorf("%s: the message holds a value: %s", full, p.Message)
			}
		}
	}
}

// TestFirstProblemDecides (VA-01): missing fields, then types, values, unknown fields.
func TestFirstProblemDecides(t *testing.T) {
	s := compiled(t, `{"type":"object","additionalProperties":false,"required":["z"],"properties":{
		"a":{"type":"string","maxLength":1},"b":{"type":"integer"},"z":{"type":"object","required":["y"],"properties":{"y":{"type":"string"}}}}}`)
	got := s.Validate(json.RawMessage(`{"q":1,"b":"x","a":"long"}`))
	want := []Problem{
		{"/z", KindMissingRequired, "Missing required field: z"},
		{"/b", KindTypeMismatch, "Invalid type for field: b"},
		{"/a", KindInvalidValue, "Invalid value for field: a (longer than 1)"},
		{"/q", KindUnknownProperty, `Unknown field: "q"`},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if got := first(s, `"x"`); got != "Invalid type for field: (root)" {
		t.Errorf("got %q", got)
	}
	for range 50 { // maps are walked in random order
		if again := s.Validate(json.RawMessage(`{"q":1,"b":"x","a":"long"}`)); !reflect.DeepEqual(again, got) {
			t.Fatalf("order changed: %v", again)
		}
	}
}

// TestProblemsAreBounded: an instance that is invalid throughout costs as much as its first 32
// problems. The search stops there and writes nothing for the rest.
func TestProblemsAreBounded(t *testing.T) {
	names := many("f", 3000)
	for name, c := range map[string][3]string{
		"elements":       {`{"items":{"type":"string"}}`, `[`, `1,`},
		"tuple":          {`{"prefixItems":[{"type":"string"}],"items":{"type":"string"}}`, `[`, `1,`},
		"unevaluated":    {`{"unevaluatedItems":{"type":"string"}}`, `[`, `1,`},
		"alternatives":   {`{"items":{"anyOf":[{"type":"string"},{"type":"null"}]}}`, `[`, `1,`},
		"of one element": {`{"items":{"allOf":[{"type":"string"},{"minimum":5}]}}`, `[`, `1,`},
		"missing fields": {`{"items":{"required":["` + strings.Join(names, `","`) + `"]}}`, `[`, `{},`},
	} {
		s := compiled(t, `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"l":`+c[0]+`}}`)
		instance := json.RawMessage(`{"l":` + c[1] + strings.TrimSuffix(strings.Repeat(c[2], 100_000), ",") + `]}`)
		var got []Problem
		if allocs := testing.AllocsPerRun(1, func() { got = s.Validate(instance) }); allocs > 2000 || len(got) != maxProblems {
			t.Errorf("%s: %.0f allocations for %d problems", name, allocs, len(got))
		}
	}
	members := `{"` + strings.Join(many("q", 20_000), `":1,"`) + `":1}`
	for name, doc := range map[string]string{
		"unknown fields":     `{"additionalProperties":false}`,
		"unevaluated fields": `{"unevaluatedProperties":false}`,
		"fields":             `{"additionalProperties":{"type":"string"}}`,
	} {
		s := compiled(t, `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"l":`+doc+`}}`)
		if got := s.Validate(json.RawMessage(`{"l":` + members + `}`)); len(got) != maxProblems {
			t.Errorf("%s: %d problems", name, len(got))
		}
	}
	// A problem that many schemas find is listed once, so that the list has room for others.
	s := compiled(t, `{"type":"object","allOf":[`+strings.Repeat(`{"properties":{"a":{"type":"string"}}},`, 50)+`{"properties":{"b":{"type":"string"}}}]}`)
	if got := s.Validate(json.RawMessage(`{"a":1,"b":1}`)); len(got) != 2 {
		t.Errorf("got %v", got)
	}
}
