package catalog_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// TestKinds shows that a tool's kind follows from its type or its document, that the spec has it, and
// that redaction and validation work on values that are not objects (RF-01, RF-12).
func TestKinds(t *testing.T) {
	def := toolspec.Definition{ID: "acme__values", Description: "Values.", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Redaction: toolspec.Redaction{Allow: []string{""}}}
	type named string
	nothing := func(context.Context, json.RawMessage, toolspec.Call) (json.RawMessage, error) { return nil, nil }
	foreign := func(output string) toolspec.Tool {
		return toolspec.DefineSchema(def, json.RawMessage(`{"type":"object"}`), json.RawMessage(output), nothing)
	}
	for name, tc := range map[string]struct {
		tool             toolspec.Tool
		kind             toolspec.ValueKind
		accepts, refuses string
	}{
		"string":             {tool[in, string](def), toolspec.KindText, `"a\nb"`, `["a"]`},
		"named string":       {tool[in, named](def), toolspec.KindText, `"a"`, `1`},
		"number":             {tool[in, float64](def), toolspec.KindJSON, `1.5`, `"1.5"`},
		"json.Number":        {tool[in, json.Number](def), toolspec.KindJSON, `1`, `"1"`},
		"bool":               {tool[in, bool](def), toolspec.KindJSON, `true`, `0`},
		"slice":              {tool[in, []int](def), toolspec.KindJSON, `[1,2]`, `[1,"2"]`},
		"map":                {tool[in, map[string]string](def), toolspec.KindJSON, `{"a":"b"}`, `{"a":1}`},
		"any":                {tool[in, any](def), toolspec.KindJSON, `"anything"`, `{`},
		"parts":              {tool[in, toolspec.Parts](def), toolspec.KindParts, `[{"text":"a","type":"text"}]`, `[{"type":"video"}]`},
		"document of text":   {foreign(`{"type":"string","maxLength":2}`), toolspec.KindText, `"ab"`, `"abc"`},
		"document of a list": {foreign(`{"type":"array","items":{"type":"integer"}}`), toolspec.KindJSON, `[1]`, `["1"]`},
		"document of parts":  {foreign(string(toolspec.PartsSchema())), toolspec.KindParts, `[{"type":"text"}]`, `[{}]`},
		"nullable document":  {foreign(`{"type":["string","null"]}`), toolspec.KindJSON, `null`, `1`},
	} {
		b, err := catalog.Bind(tc.tool, toolspec.Capabilities{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if b.Kind() != tc.kind || b.Spec().Kind != tc.kind {
			t.Errorf("%s is of the kind %s", name, b.Kind())
		}
		redacted, err := b.Redact(json.RawMessage(tc.accepts))
		if err != nil || string(redacted) != tc.accepts {
			t.Errorf("%s: %s is redacted to %s, %v", name, tc.accepts, redacted, err)
		}
		if p := append(b.ValidateOutput(json.RawMessage(tc.accepts)), b.ValidateRedacted(redacted)...); len(p) > 0 {
			t.Errorf("%s refuses %s: %v", name, tc.accepts, p)
		}
		if len(b.ValidateOutput(json.RawMessage(tc.refuses))) == 0 {
			t.Errorf("%s accepts %s", name, tc.refuses)
		}
	}
	// A mask of the whole text, and an allowlist for the elements of a bare list.
	masked := def
	masked.Redaction.MaskOutput = []toolspec.Masking{{Path: "", With: toolspec.MaskEmail}}
	b, err := catalog.Bind(tool[in, string](masked), toolspec.Capabilities{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.Redact(json.RawMessage(`"write to ann@example.com"`)); err != nil || string(got) != `"write to ***"` {
		t.Errorf("masked to %s, %v", got, err)
	}
	listed := def
	listed.Redaction.Allow = []string{"/*/name"}
	type row struct {
		Name string `json:"name"`
		Key  string `json:"key2"`
	}
	if b, err = catalog.Bind(tool[in, []row](listed), toolspec.Capabilities{}); err != nil {
		t.Fatal(err)
	}
	got, err := b.Redact(json.RawMessage(`[{"name":"a","key2":"x"}]`))
	if err != nil || string(got) != `[{"name":"a"}]` || len(b.ValidateRedacted(got)) > 0 {
		t.Errorf("redacted to %s, %v", got, err)
	}
}
