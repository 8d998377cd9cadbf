package legacy_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/legacy"
)

const weather = `{
  "type": "function", "name": "get_weather", "description": "Says what the weather is.",
  "parameters": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"], "additionalProperties": false},
  "allowNoSchema": true, "noSchemaMode": "ask", "strict": true
}`

// TestFunction: a definition with all seven keys becomes a tool (SP-19).
func TestFunction(t *testing.T) {
	f, err := legacy.ParseFunction([]byte(weather))
	if err != nil {
		t.Fatal(err)
	}
	if f.Name != "get_weather" || !f.Strict || !f.AllowNoSchema || f.NoSchemaMode != toolspec.NoSchemaAsk || !strings.HasPrefix(string(f.Parameters), `{"type": "object"`) {
		t.Errorf("read as %+v", f)
	}
	source := catalog.NewRegistry(toolspec.Capabilities{})
	if err := source.Add("import", imported(f)); err != nil {
		t.Fatal(err)
	}
	bound, ok := source.Get("sky__get_weather")
	if !ok {
		t.Fatalf("the tools are %+v", source.Specs())
	}
	spec := bound.Spec()
	if spec.Description != "Says what the weather is." || spec.Title != "get_weather" || !spec.Strict || spec.NoSchema || string(spec.InputSchema) != string(f.Parameters) {
		t.Errorf("published as %+v", spec)
	}
	if len(bound.ValidateInput(json.RawMessage(`{"location":"Oslo"}`))) != 0 || len(bound.ValidateInput(json.RawMessage(`{"place":"Oslo"}`))) == 0 {
		t.Error("arguments are not held to the parameters")
	}
	if value, err := bound.Tool().Run(t.Context(), json.RawMessage(`{"location":"Oslo"}`), toolspec.Call{}); err != nil || string(value) != `{"sky":"{\"location\":\"Oslo\"}"}` {
		t.Errorf("it ran to %s, %v", value, err)
	}
}

func imported(f legacy.Function) toolspec.Tool {
	return f.Import("sky", toolspec.Definition{
		Description: "The contract's own.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/sky"}},
	}, json.RawMessage(`{"type":"object","properties":{"sky":{"type":"string"}}}`),
		func(_ context.Context, args json.RawMessage, _ toolspec.Call) (json.RawMessage, error) {
			return json.Marshal(map[string]string{"sky": string(args)})
		})
}

// malformed is the specification's own sample: the fields stand where the schema
// should.
const malformed = `{
  "type": "function", "name": "get_current_weather", "description": "Get the current weather for a given location",
  "parameters": {
    "location": {"type": "string", "description": "The name of the city e.g. San Francisco, CA"},
    "format": {"type": "string", "enum": ["celsius", "fahrenheit"], "description": "The format to return the weather in"},
    "required": ["location", "format"]
  }
}`

// TestFunctionRegistration: what a definition leaves out or gets wrong is said
// when the tool is registered (SP-23, SP-29).
func TestFunctionRegistration(t *testing.T) {
	for _, tc := range []struct{ name, doc, want string }{
		{"all of it", weather, ""},
		{"the sample of the specification", malformed, `tool sky__get_current_weather: input schema: schema refused at (root): the root must say "type": "object" and list its fields under "properties"`},
		{"no parameters", `{"type":"function","name":"a","description":"d"}`, "tool sky__a: input schema: is missing"},
		{"no parameters, allowed", `{"type":"function","name":"a","allowNoSchema":true}`, "tool sky__a: allowNoSchema needs a noSchemaMode"},
		{"no parameters, with both", `{"type":"function","name":"a","allowNoSchema":true,"noSchemaMode":"ask"}`, ""},
		{"an own namespace", `{"type":"function","name":"core__a","parameters":{"type":"object"}}`, ""},
		{"a colon", `{"type":"function","name":"mcp:a","parameters":{"type":"object"}}`, "id may hold only"},
	} {
		f, err := legacy.ParseFunction([]byte(tc.doc))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		switch _, err := catalog.Bind(imported(f), toolspec.Capabilities{}); {
		case tc.want == "" && err != nil:
			t.Errorf("%s is refused: %v", tc.name, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
	}
}

// TestFunctionRefused: what is no definition is none, and the error says why.
func TestFunctionRefused(t *testing.T) {
	for _, tc := range []struct{ doc, want string }{
		{`{"type":"function","name":"a","schema":{},"Description":"d"}`, `unknown keys: "Description", "schema"`},
		{`{"type":"function","function":{"name":"a"}}`, `unknown keys: "function"`},
		{`{"type":"tool","name":"a"}`, `type must be "function"`},
		{`{"name":"a"}`, `type must be "function"`},
		{`{"type":"function"}`, "name is missing"},
		{`{"type":"function","name":1}`, "name has the wrong JSON type"},
		{`{"type":"function","name":"a","strict":"yes"}`, "strict has the wrong JSON type"},
		{`{"type":"function","name":"a","name":"b"}`, "repeated object key"},
		{`[]`, "not an object"}, {`null`, "not an object"}, {``, "Invalid JSON"},
		{`{"type":"function","name":"a","description":"` + strings.Repeat("x", 600<<10) + `"}`, "larger than"},
	} {
		if f, err := legacy.ParseFunction([]byte(tc.doc)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.60s: %+v, %v, want %q", tc.doc, f, err, tc.want)
		}
	}
}
