package toolspec_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

func echoJSON(_ context.Context, args json.RawMessage, _ toolspec.Call) (json.RawMessage, error) {
	return args, nil
}

// TestDocuments: a tool of documents has no types, gives its documents as they
// are, and nobody changes them from outside (SP-20, SP-21, C-23).
func TestDocuments(t *testing.T) {
	in, out := json.RawMessage(`{"type": "object", "properties":{ "a": {"type":"string"}}}`), json.RawMessage(`{"type":"object"}`)
	wantIn := string(in)
	tool := toolspec.DefineSchema(definition(), in, out, echoJSON)
	in[0] = 'X'
	got, gotOut, ok := tool.Documents()
	if !ok || string(got) != wantIn || string(gotOut) != `{"type":"object"}` {
		t.Fatalf("documents %s, %s, %v", got, gotOut, ok)
	}
	got[0] = 'Y'
	if again, _, _ := tool.Documents(); string(again) != wantIn {
		t.Errorf("a write into what was returned reached the tool: %s", again)
	}
	if inType, outType := tool.Types(); inType != nil || outType != nil {
		t.Errorf("it has types: %v, %v", inType, outType)
	}
	if d := tool.Definition(); d.MaxAttempts != toolspec.DefaultAttempts || d.Timeout != toolspec.DefaultTimeout {
		t.Errorf("the defaults are missing: %+v", d)
	}
	if value, err := tool.Run(t.Context(), json.RawMessage(`{"a":1.10}`), toolspec.Call{}); err != nil || string(value) != `{"a":1.10}` {
		t.Errorf("it ran to %s, %v: arguments and value are bytes", value, err)
	}
	if _, _, ok := toolspec.Define(definition(), add).Documents(); ok {
		t.Error("a tool of types has documents")
	}
	for _, doc := range []string{"", "null", " null\n"} {
		if in, _, ok := toolspec.DefineSchema(definition(), json.RawMessage(doc), out, echoJSON).Documents(); !ok || in != nil {
			t.Errorf("%q is the document %q, want none", doc, in)
		}
	}
}

// adder has a method of a tool's form, and embeds nothing (SP-16, SP-27).
type adder struct{ offset float64 }

func (a adder) Run(_ context.Context, in addIn, _ toolspec.Call) (addOut, error) {
	return addOut{Sum: float64(in.A+in.B) + a.offset}, nil
}

// TestPlainStruct: a struct with a method becomes a tool as it is.
func TestPlainStruct(t *testing.T) {
	tool := toolspec.Define(definition(), adder{offset: 1}.Run)
	if value, err := tool.Run(t.Context(), json.RawMessage(`{"a":1,"b":2}`), toolspec.Call{}); err != nil || string(value) != `{"sum":4}` {
		t.Errorf("it ran to %s, %v", value, err)
	}
}

// TestToolsAreOpaque: a tool that is serialised says nothing (SP-22).
func TestToolsAreOpaque(t *testing.T) {
	for name, tool := range map[string]toolspec.Tool{
		"of types": toolspec.Define(definition(), add), "of documents": toolspec.DefineSchema(definition(), json.RawMessage(`{}`), nil, echoJSON),
	} {
		if encoded, err := json.Marshal(map[string]any{"tool": tool}); err != nil || string(encoded) != `{"tool":{}}` {
			t.Errorf("a tool %s is written as %s (%v)", name, encoded, err)
		}
	}
}

func TestNoSchemaRule(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*toolspec.Definition)
		want   string // "" is acceptance
	}{
		{"neither", func(*toolspec.Definition) {}, ""},
		{"without a mode", func(d *toolspec.Definition) { d.AllowNoSchema = true }, "allowNoSchema needs a noSchemaMode: deny or ask"},
		{"a mode alone", func(d *toolspec.Definition) { d.NoSchemaMode = toolspec.NoSchemaDeny }, "noSchemaMode goes with allowNoSchema only"},
		{"another mode", func(d *toolspec.Definition) { d.AllowNoSchema, d.NoSchemaMode = true, "allow" }, `noSchemaMode "allow" is none of deny, ask`},
		{"ask", func(d *toolspec.Definition) { d.AllowNoSchema, d.NoSchemaMode = true, toolspec.NoSchemaAsk }, ""},
		{"deny", func(d *toolspec.Definition) { d.AllowNoSchema, d.NoSchemaMode = true, toolspec.NoSchemaDeny }, ""},
	} {
		d := definition()
		tc.change(&d)
		err := toolspec.DefineSchema(d, nil, nil, echoJSON).Definition().Check()
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
	}
}
