package schema

import (
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/schema/schematest"
)

// TestRulesThatPrintAlike: rules that print alike can differ. A rule of one part of a composition
// is kept or reported, even if another part has a rule that prints alike.
func TestRulesThatPrintAlike(t *testing.T) {
	for name, c := range map[string]struct {
		doc     string
		targets []Target
		effect  Effect // of a finding that must exist; "" if the call must be possible
		keyword string
		call    string
	}{
		"a text and a number, either": {
			`{"type":"object","anyOf":[{"properties":{"x":{"const":"1"}}},{"properties":{"x":{"const":1}}}]}`,
			[]Target{OpenAI, Anthropic, Ollama}, "", "", `{"x":1}`,
		},
		"a text and a number, both": {
			`{"type":"object","allOf":[{"properties":{"x":{"const":"1"}}},{"properties":{"x":{"const":1}}}]}`,
			[]Target{OpenAI, Anthropic, OpenAIStrict, AnthropicStrict}, Dropped, "const", "",
		},
		"one name and two": {
			`{"type":"object","properties":{"x":{"type":"array","allOf":[{"items":{"enum":["a b"]}},{"items":{"enum":["a","b"]}}]}}}`,
			[]Target{OpenAIStrict, AnthropicStrict, Gemini, Ollama}, Dropped, "items", "",
		},
		"the same twice": {
			`{"type":"object","allOf":[{"properties":{"x":{"enum":["a",1]}}},{"properties":{"x":{"enum":["a",1]}}}]}`,
			[]Target{OpenAI, Anthropic, Ollama}, "", "", `{"x":1}`,
		},
	} {
		for _, target := range c.targets {
			sent, err := Down(json.RawMessage(c.doc), target)
			if err != nil {
				t.Fatal(err)
			}
			if c.effect != "" {
				if !slices.ContainsFunc(sent.Findings, func(f Finding) bool { return f.Effect == c.effect && f.Keyword == c.keyword }) {
					t.Errorf("%s, %s: %s of %s is not reported: %+v", name, target, c.keyword, sent.Document, sent.Findings)
				}
				continue
			}
			if s := compiled(t, string(sent.Document)); s.Validate(json.RawMessage(c.call)) != nil || tightened(sent.Findings) {
				t.Errorf("%s, %s: %s under %s: %+v", name, target, c.call, sent.Document, sent.Findings)
			}
		}
	}
}

// TestCappedBoundIsOne: a bound that a target caps is one bound, even if several parts have it.
func TestCappedBoundIsOne(t *testing.T) {
	sent, err := Down(json.RawMessage(`{"type":"object","properties":{"x":{"type":"array","items":{"type":"string"},"allOf":[{"minItems":1},{"minItems":3}]}}}`), AnthropicStrict)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range sent.Findings {
		if f.Text == "said twice in a composition" {
			t.Errorf("%+v", f)
		}
	}
}

// TestManyPartsAreJoinedFast: parts of a composition are not written out again for each later part.
func TestManyPartsAreJoinedFast(t *testing.T) {
	doc := `{"type":"object","allOf":[` + schematest.Listed(2400, `{"properties":{"field_%s":{"description":"`+strings.Repeat("d", 30)+`"}}}`) + `]}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Down(json.RawMessage(doc), OpenAI); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 500 {
		t.Errorf("%d MiB", mb)
	}
}

// TestAForbiddenFieldStaysForbidden: a field that one part of a composition forbids is forbidden in the whole, or a finding says that it is not.
func TestAForbiddenFieldStaysForbidden(t *testing.T) {
	for _, doc := range []string{
		`{"type":"object","properties":{"a":false,"b":{"type":"string"}},"allOf":[{"properties":{"a":{"type":"string"}}}]}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"allOf":[{"properties":{"a":false,"b":{"type":"string"}}}]}`,
	} {
		for _, target := range []Target{OpenAI, Anthropic, OpenAIStrict, AnthropicStrict, Gemini, Ollama} {
			sent, err := Down(json.RawMessage(doc), target)
			if err != nil {
				t.Fatal(err)
			}
			if compiled(t, string(sent.Document)).Validate(json.RawMessage(`{"a":"x"}`)) == nil && len(sent.Findings) == 0 {
				t.Errorf("%s: %s allows a, without a finding", target, sent.Document)
			}
		}
	}
}

// TestJoinedPartsAcceptWhatIsValid: a keyword of one part does not come beside a keyword of another part that changes its
// meaning.
func TestJoinedPartsAcceptWhatIsValid(t *testing.T) {
	var parts []schematest.Case
	for _, c := range schematest.Cases() {
		if c.To == int(jsonschema.Draft2020) && dependsOnOthers.MatchString(c.Schema) && !strings.Contains(c.Schema, `"#`) {
			parts = append(parts, c)
		}
	}
	for _, schema := range []string{
		`{"type":"object","if":{"properties":{"k":{"const":"a"}}},"then":{"required":["x"]}}`,
		`{"type":"object","if":{"properties":{"k":{"const":"b"}}},"then":{"required":["y"]},"else":{"required":["z"]}}`,
		`{"then":{"required":["q"]},"else":{"required":["q"]}}`,
		`{"minContains":2,"maxContains":2}`,
		`{"prefixItems":[{"type":"integer"},{"type":"string"}],"items":false}`,
		`{"prefixItems":[{"type":"integer"}]}`,
		`{"patternProperties":{"^z":{}},"additionalProperties":false}`,
		`{"anyOf":[{"properties":{"y":{}}},{"properties":{"z":{}}}],"unevaluatedProperties":false}`,
	} {
		parts = append(parts, schematest.Case{Schema: schema, Good: []json.RawMessage{
			json.RawMessage(`{"k":"b","y":1}`), json.RawMessage(`{"k":"a","x":1,"z":1}`), json.RawMessage(`{"z1":1}`), json.RawMessage(`{"y":1}`), json.RawMessage(`[1,"x"]`),
		}})
	}
	judged := 0
	for _, a := range parts {
		for _, b := range parts {
			joined := func(format string, call string) {
				doc := fmt.Sprintf(`{"$schema":%q,"type":"object","allOf":[`+format+`,`+format+`]}`, jsonschema.Draft2020.URI(), a.Schema, b.Schema)
				sent, err := Down(json.RawMessage(doc), OpenAI)
				if err != nil {
					t.Fatalf("%s: %v", doc, err)
				}
				original, lowered := compiled(t, doc), compiled(t, string(sent.Document))
				for _, value := range slices.Concat(a.Good, b.Good) {
					args := fmt.Sprintf(call, value)
					if first(original, args) != "" {
						continue
					}
					judged++
					if first(lowered, args) != "" && !tightened(sent.Findings) {
						t.Errorf("%s: %s is refused by %s: %+v", doc, args, sent.Document, sent.Findings)
					}
				}
			}
			joined(`%s`, `%s`)
			joined(`{"properties":{"v":%s}}`, `{"v":%s}`)
		}
	}
	if judged < 5000 {
		t.Errorf("%d verdicts: the table tests too little", judged)
	}
}

// dependsOnOthers finds a keyword on which others depend, or that depends on others.
var dependsOnOthers = regexp.MustCompile(`"(if|then|else|contains|prefixItems|patternProperties|unevaluated\w+)"`)

// TestJoinedTypesAreListedOnce: a type that two parts give in several ways stands in the list once.
func TestJoinedTypesAreListedOnce(t *testing.T) {
	sent, err := Down(json.RawMessage(`{"type":"object","allOf":[{"properties":{"v":{"type":["number","integer"]}}},{"properties":{"v":{"type":["integer","string"]}}}]}`), OpenAI)
	if err != nil {
		t.Fatal(err)
	}
	if s := compiled(t, string(sent.Document)); first(s, `{"v":1}`) != "" || first(s, `{"v":"x"}`) == "" {
		t.Errorf("got %s", sent.Document)
	}
}

// TestPatternsLeaveAFieldFree: an alternative whose patterns may match a field leaves it free, also if the alternative is closed.
func TestPatternsLeaveAFieldFree(t *testing.T) {
	doc := `{"type":"object","anyOf":[{"properties":{"x1":{"type":"string"}}},{"patternProperties":{"^x":{}},"additionalProperties":false}]}`
	for _, target := range allTargets() {
		sent, err := Down(json.RawMessage(doc), target)
		if err != nil {
			t.Fatal(err)
		}
		if s := compiled(t, string(sent.Document)); first(s, `{"x1":1}`) != "" && !tightened(sent.Findings) {
			t.Errorf("%s: %s is said to accept all: %+v", target, sent.Document, sent.Findings)
		}
	}
}
