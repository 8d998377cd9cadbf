package catalog_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// Schemas that a server in another language could send, with references, combinations and a
// default, which Go types do not produce.
const (
	issueInput = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "repo": {"type": "string", "pattern": "^[^/]+/[^/]+$"},
    "title": {"type": "string", "maxLength": 20},
    "labels": {"type": "array", "items": {"$ref": "#/$defs/label"}},
    "assignee": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}
  },
  "required": ["repo", "title"],
  "additionalProperties": false,
  "$defs": {"label": {"enum": ["bug", "idea"]}}
}`
	issueOutput = `{"type":"object","properties":{"number":{"type":"integer"},"author":{"type":"object","properties":{"login":{"type":"string"},"mail":{"type":"string"}}}},"required":["number"]}`
)

func foreignDefinition() toolspec.Definition {
	return toolspec.Definition{
		ID: "github__create_issue", Description: "Opens an issue.", Version: "1", Effect: toolspec.ExternalSideEffect, Risk: toolspec.MediumRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/number", "/author/login"}, MaskInput: []string{"/title"}},
	}
}

func foreign(input, output string, change ...func(*toolspec.Definition)) toolspec.Tool {
	d := foreignDefinition()
	for _, c := range change {
		c(&d)
	}
	return toolspec.DefineSchema(d, json.RawMessage(input), json.RawMessage(output),
		func(_ context.Context, args json.RawMessage, _ toolspec.Call) (json.RawMessage, error) {
			return args, nil
		})
}

func unchecked(mode toolspec.NoSchemaMode) func(*toolspec.Definition) {
	return func(d *toolspec.Definition) { d.AllowNoSchema, d.NoSchemaMode, d.Redaction.MaskInput = true, mode, nil }
}

// TestForeignTool: a tool with documents is checked against them as a tool with Go types is, and
// the documents are published unchanged (C-23, SP-17, SP-18).
func TestForeignTool(t *testing.T) {
	b := bind(t, foreign(issueInput, issueOutput))
	spec := b.Spec()
	if string(spec.InputSchema) != issueInput || string(spec.OutputSchema) != issueOutput {
		t.Errorf("published as\n%s\n%s", spec.InputSchema, spec.OutputSchema)
	}
	if spec.NoSchema || spec.NoSchemaMode != "" || len(spec.Digest) != 64 || len(spec.SchemaHash) != 64 {
		t.Errorf("published as %+v", spec)
	}
	for args, want := range map[string]string{
		`{"repo":"a/b","title":"x","labels":["bug"],"assignee":null}`: "",
		`{"repo":"a/b","title":"x","body":"y"}`:                       "unknown_property /body",
		`{"repo":"a/b"}`:                                              "missing_required /title",
		`{"repo":"ab","title":"x"}`:                                   "invalid_value /repo",
		`{"repo":"a/b","title":"x","labels":["feature"]}`:             "invalid_value /labels/0",
	} {
		got := ""
		if found := b.ValidateInput(json.RawMessage(args)); len(found) > 0 {
			got = found[0].Kind + " " + found[0].Path
		}
		if got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	if safe, err := b.SafeArgs(json.RawMessage(`{"repo":"a/b","title":"x"}`)); err != nil || string(safe) != `{"repo":"a/b","title":"***"}` {
		t.Errorf("shown as %s (%v)", safe, err)
	}
	value := json.RawMessage(`{"number":7,"author":{"login":"ann","mail":"ann@acme.test"},"more":1}`)
	if safe, err := b.Redact(value); err != nil || string(safe) != `{"author":{"login":"ann"},"number":7}` || len(b.ValidateRedacted(safe)) != 0 {
		t.Errorf("redacted to %s (%v), %v", safe, err, b.ValidateRedacted(safe))
	}
	if len(b.ValidateOutput(json.RawMessage(`{"number":"seven"}`))) == 0 {
		t.Error("a value of another form is accepted")
	}
}

// TestForeignDocumentsAreClosed: an argument that an open document does not name is refused, and
// the published document says so (C-14).
func TestForeignDocumentsAreClosed(t *testing.T) {
	b := bind(t, foreign(`{"type":"object","properties":{"title":{"type":"string"},"deep":{"type":"object","properties":{"a":{}}},"map":{"type":"object"}}}`, issueOutput))
	for args, want := range map[string]int{
		`{"title":"a","deep":{"a":1},"map":{"any":1}}`: 0, `{"title":"a","titel":"b"}`: 1, `{"deep":{"b":1}}`: 1,
	} {
		if got := b.ValidateInput(json.RawMessage(args)); len(got) != want {
			t.Errorf("%s: %v, want %d", args, got, want)
		}
	}
	if spec := b.Spec(); !strings.Contains(string(spec.InputSchema), `"additionalProperties":false`) {
		t.Errorf("published as %s", spec.InputSchema)
	}
}

// TestForeignRegistration: the rules of the contract apply to documents too, and the error names
// the tool and the place (SP-11, SP-17, SP-23, SP-29, ER-23).
func TestForeignRegistration(t *testing.T) {
	in := func(doc string) toolspec.Tool { return foreign(doc, issueOutput) }
	for _, tc := range []struct {
		name string
		tool toolspec.Tool
		want string // "" means accepted
	}{
		{"all of it", in(issueInput), ""},
		{"no schema", in(""), "input schema: is missing"},
		{"null for a schema", in("null"), "input schema: is missing"},
		{"no schema and no mode", foreign("", issueOutput, func(d *toolspec.Definition) { d.AllowNoSchema = true }), "allowNoSchema needs a noSchemaMode"},
		{"no schema, with both", foreign("", issueOutput, unchecked(toolspec.NoSchemaAsk)), ""},
		{"a schema, with both", foreign(issueInput, issueOutput, unchecked(toolspec.NoSchemaDeny)), ""},
		{"no output schema", foreign(issueInput, ""), "output schema: is missing"},
		{"not JSON", in(`{"type":`), "input schema: "},
		{"a key twice", in(`{"type":"object","type":"object"}`), "repeated object key"},
		{"a list at the root", in(`{"type":"array"}`), `the root must say "type": "object"`},
		{"true", in(`true`), `the root must say "type": "object"`},
		{"no such type", in(`{"type":"object","properties":{"a":{"type":"str"}}}`), "/properties/a/type"},
		{"a reference outward", in(`{"type":"object","properties":{"a":{"$ref":"https://example.com/a.json"}}}`), "nothing is fetched"},
		{"a reference to nothing", in(`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}}}`), "leads to no schema"},
		{"a connection", in(`{"type":"object","properties":{"a":{"type":"object","properties":{"connection_id":{}}}}}`), "connectionId comes in the invocation context"},
		{"a secret", in(`{"type":"object","properties":{"apiKey":{"type":"string"}}}`), "a field for a secret"},
		{"a secret in the output", foreign(issueInput, `{"type":"object","properties":{"number":{},"author":{},"password":{}}}`), "output schema: "},
		{"allow names nothing", foreign(issueInput, `{"type":"object","properties":{"count":{}},"additionalProperties":false}`), "names nothing in the output schema"},
		{"a mask names nothing", foreign(`{"type":"object","properties":{},"additionalProperties":false}`, issueOutput), "redaction.maskInput"},
		{"no effect", foreign(issueInput, issueOutput, func(d *toolspec.Definition) { d.Effect = "" }), "effect is missing"},
		{"no risk", foreign(issueInput, issueOutput, func(d *toolspec.Definition) { d.Risk = "" }), "risk is missing"},
		{"no redaction", foreign(issueInput, issueOutput, func(d *toolspec.Definition) { d.Redaction = toolspec.Redaction{} }), "redaction.allow is empty"},
		{"a bare id", foreign(issueInput, issueOutput, func(d *toolspec.Definition) { d.ID = "create_issue" }), "id must be namespaced"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := catalog.Bind(tc.tool, provided(t))
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "tool ")):
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestNoSchema: the published spec of a tool without a schema says so. The tool accepts any object,
// and its digest differs from that of a tool whose schema accepts any object (C-42, SP-23).
func TestNoSchema(t *testing.T) {
	bound := bind(t, foreign("", issueOutput, unchecked(toolspec.NoSchemaAsk)))
	without := bound.Spec()
	if !without.NoSchema || without.NoSchemaMode != toolspec.NoSchemaAsk || string(without.InputSchema) != `{"type":"object"}` {
		t.Errorf("published as %+v", without)
	}
	if bound.HasSchema() || len(bound.ValidateInput(json.RawMessage(`{"anything":[1]}`))) != 0 {
		t.Error("it does not take any object")
	}
	with := bind(t, foreign(`{"type":"object"}`, issueOutput, unchecked(toolspec.NoSchemaAsk))).Spec()
	if with.NoSchema || with.NoSchemaMode != "" {
		t.Errorf("a tool with a schema is published as %+v", with)
	}
	other := bind(t, foreign("", issueOutput, unchecked(toolspec.NoSchemaDeny))).Spec()
	if with.Digest == without.Digest || other.Digest == without.Digest || with.SchemaHash == "" || without.SchemaHash != "" {
		t.Error("the digest does not tell them apart")
	}
	encoded, err := json.Marshal(without)
	if err != nil || !strings.Contains(string(encoded), `"noSchema":true,"noSchemaMode":"ask"`) {
		t.Errorf("written as %s (%v)", encoded, err)
	}
}

// TestForeignDigestIsOfTheContent: documents that differ only in formatting give equal digests.
func TestForeignDigestIsOfTheContent(t *testing.T) {
	var compact json.RawMessage
	if err := json.Unmarshal([]byte(issueInput), &compact); err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(compact, &value); err != nil {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	one, two := bind(t, foreign(issueInput, issueOutput)).Spec(), bind(t, foreign(string(sorted), issueOutput)).Spec()
	if one.Digest != two.Digest || one.SchemaHash != two.SchemaHash {
		t.Error("the order of keys changes digests")
	}
	changed := strings.Replace(issueInput, `"maxLength": 20`, `"maxLength": 21`, 1)
	if three := bind(t, foreign(changed, issueOutput)).Spec(); three.Digest == one.Digest {
		t.Error("another schema has the same digest")
	}
}
