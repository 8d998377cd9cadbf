package catalog_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

type tree struct {
	Text string `json:"text"`
	Next *tree  `json:"next,omitempty"`
}

type withConnection struct {
	Text         string `json:"text"`
	ConnectionID string `json:"connectionId"`
}

type nested struct {
	Text string `json:"text"`
	Deep struct {
		List []struct {
			ConnectionID string `json:"connection_id"`
		} `json:"list"`
	} `json:"deep"`
}

type withSecret struct {
	Text   string `json:"text"`
	APIKey string `json:"apiKey"`
}

type harmless struct {
	Text       string `json:"text"`
	Secretary  string `json:"secretary"`
	TokenCount int    `json:"tokenCount"`
}

// withProbe is a changed definition as a tool with a probe.
func withProbe(change func(*toolspec.Definition)) toolspec.Tool {
	d := definition()
	change(&d)
	return toolspec.DefineWithProbe(d, func(context.Context, in, toolspec.Call) (o out, err error) { return o, nil },
		func(context.Context, in, toolspec.Call) (f toolspec.Found[out], err error) { return f, nil })
}

// TestRegistrationMatrix: each rule of the contract refuses the tool by its name
// and says where (SP-06, SP-11, RG-02).
func TestRegistrationMatrix(t *testing.T) {
	with := func(change func(*toolspec.Definition)) toolspec.Tool {
		d := definition()
		change(&d)
		return tool[in, out](d)
	}
	text := definition()
	text.Redaction = toolspec.Redaction{Allow: []string{"/text"}}
	for _, tc := range []struct {
		name string
		tool toolspec.Tool
		want []string // all of them; none is acceptance
	}{
		{"all of it", tool[in, out](definition()), nil},
		{"no function", toolspec.Define[in, out](definition(), nil), []string{"tool core__read: its function is missing"}},
		{"no function of documents", toolspec.DefineSchema(definition(), json.RawMessage(`{"type":"object"}`), json.RawMessage(`{"type":"object"}`), nil), []string{"tool core__read: its function is missing"}},
		{"no id", with(func(d *toolspec.Definition) { d.ID = "" }), []string{"tool (no id): id is missing"}},
		{"bad id", with(func(d *toolspec.Definition) { d.ID = "read" }), []string{"tool read: id must be namespaced"}},
		{"id of no tool", with(func(d *toolspec.Definition) { d.ID = toolspec.UnknownTool("read file") }), []string{"id may not be in the namespace unknown"}},
		{"id with a colon", with(func(d *toolspec.Definition) { d.ID = "core:read" }), []string{"tool core:read: id may hold only"}},
		{"no description", with(func(d *toolspec.Definition) { d.Description = "" }), []string{"tool core__read: description is missing"}},
		{"no effect", with(func(d *toolspec.Definition) { d.Effect = "" }), []string{"tool core__read: effect is missing"}},
		{"no risk", with(func(d *toolspec.Definition) { d.Risk = "" }), []string{"tool core__read: risk is missing"}},
		{"no redaction", with(func(d *toolspec.Definition) { d.Redaction = toolspec.Redaction{} }), []string{"tool core__read: redaction.allow is empty"}},
		{"fast and slow", with(func(d *toolspec.Definition) { d.Fast, d.Timeout = true, time.Minute }), []string{"tool core__read: fast needs"}},
		{"allow matches nothing", with(func(d *toolspec.Definition) { d.Redaction.Allow = []string{"/text", "/entries/*/nam"} }),
			[]string{"tool core__read: redaction.allow", `"/entries/*/nam" names nothing`}},
		{"allow by index", with(func(d *toolspec.Definition) { d.Redaction.Allow = []string{"/entries/0"} }),
			[]string{"tool core__read: redaction.allow", `"/entries/0"`}},
		{"mask matches nothing", with(func(d *toolspec.Definition) { d.Redaction.MaskInput = []string{"/notes"} }),
			[]string{"tool core__read: redaction.maskInput", `"/notes" names nothing`}},
		{"fences without a probe", with(func(d *toolspec.Definition) { d.Fences = true }), []string{"tool core__read: fences needs a probe: define the tool with DefineWithProbe"}},
		{"fences", withProbe(func(d *toolspec.Definition) { d.Fences = true }), nil},
		{"capability that nobody provides", with(func(d *toolspec.Definition) { d.Capabilities = []toolspec.CapabilityName{"clock", "web"} }),
			[]string{`tool core__read: no capability "web" is provided`, "[clock files]"}},
		{"connectionId in the input", tool[withConnection, out](text), []string{"tool core__read: input schema", "/properties/connectionId"}},
		{"connection_id deep in the input", tool[nested, out](text), []string{"tool core__read: input schema", "/properties/deep/properties/list/items/properties/connection_id"}},
		{"connectionId in the output", tool[in, withConnection](text), []string{"tool core__read: output schema", "/properties/connectionId"}},
		{"a secret in the input", tool[withSecret, out](text), []string{"tool core__read: input schema", "/properties/apiKey"}},
		{"a secret in the output", tool[in, withSecret](text), []string{"tool core__read: output schema", "/properties/apiKey"}},
		{"names that only look so", tool[harmless, harmless](func() toolspec.Definition { d := text; return d }()), nil},
		{"recursive input", tool[tree, out](text), []string{"tool core__read: input schema", "recursive"}},
		{"recursive output", tool[in, tree](text), []string{"tool core__read: output schema", "recursive"}},
		{"input of another kind", tool[string, out](text), []string{"tool core__read: input schema", "the root must be a struct"}},
		{"output without the allowed path", tool[in, []string](text), []string{"tool core__read: redaction.allow", "/text"}},
		{"output of any type", tool[in, any](text), nil},
		{"a function as output", tool[in, func()](text), []string{"tool core__read: output schema", "no JSON form"}},
		{"a truncation of nothing", tool[in, out](func() toolspec.Definition {
			d := text
			d.Truncate = []toolspec.Truncation{{Path: "/more", As: toolspec.ShellOutput}}
			return d
		}()), []string{"tool core__read: truncate", "/more"}},
		{"a truncation of no content", tool[in, out](func() toolspec.Definition {
			d := text
			d.Truncate = []toolspec.Truncation{{Path: "/text", As: "novel"}}
			return d
		}()), []string{"tool core__read: truncate", "novel"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := catalog.NewRegistry(provided(t))
			err := r.Add("test", tc.tool)
			if tc.want == nil {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q", err, want)
				}
			}
			if len(r.Specs()) != 0 {
				t.Error("the tool is there all the same")
			}
		})
	}
}

type otherDescription struct {
	Path  string `json:"path" jsonschema_description:"which file to read"`
	Note  string `json:"note,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

type otherOrder struct {
	Limit int    `json:"limit,omitempty"`
	Path  string `json:"path" jsonschema_description:"what to read"`
	Note  string `json:"note,omitempty"`
}

type otherType struct {
	Path  string  `json:"path" jsonschema_description:"what to read"`
	Note  string  `json:"note,omitempty"`
	Limit float64 `json:"limit,omitempty"`
}

type otherOut struct {
	Text    string  `json:"text"`
	More    string  `json:"more"`
	Entries []entry `json:"entries,omitempty"`
}

// TestDigest: an approval goes stale with what the digest covers and with nothing
// else (SP-02).
func TestDigest(t *testing.T) {
	whole := bind(t, tool[in, out](definition()))
	with := func(change func(*toolspec.Definition)) toolspec.Tool {
		d := definition()
		change(&d)
		return tool[in, out](d)
	}
	for _, tc := range []struct {
		name               string
		tool               toolspec.Tool
		digest, schemaHash bool // whether they change
	}{
		{"nothing", tool[in, out](definition()), false, false},
		{"description", with(func(d *toolspec.Definition) { d.Description = "Reads well." }), false, false},
		{"title", with(func(d *toolspec.Definition) { d.Title = "Reader" }), false, false},
		{"tags", with(func(d *toolspec.Definition) { d.Tags = nil }), false, false},
		{"timeout", with(func(d *toolspec.Definition) { d.Timeout = time.Second }), false, false},
		{"capabilities", with(func(d *toolspec.Definition) { d.Capabilities = nil }), false, false},
		{"id", with(func(d *toolspec.Definition) { d.ID = "core__other" }), true, false},
		{"version", with(func(d *toolspec.Definition) { d.Version = "2" }), true, false},
		{"effect", with(func(d *toolspec.Definition) { d.Effect = toolspec.StateChange }), true, false},
		{"risk", with(func(d *toolspec.Definition) { d.Risk = toolspec.HighRisk }), true, false},
		{"idempotence", with(func(d *toolspec.Definition) { d.Idempotent = true }), true, false},
		{"allowlist", with(func(d *toolspec.Definition) { d.Redaction.Allow = []string{"/text"} }), true, false},
		{"harmless names", with(func(d *toolspec.Definition) { d.HarmlessNames = []string{} }), false, false},
		{"a probe", withProbe(func(d *toolspec.Definition) { d.MaxAttempts = 1 }), false, false},
		{"a fence", withProbe(func(d *toolspec.Definition) { d.Fences = true }), true, false},
		{"a stream", with(func(d *toolspec.Definition) { d.Stream, d.Fast = toolspec.TextStream, false }), true, false},
		{"what a server gave", with(func(d *toolspec.Definition) { d.Discovered = &toolspec.Discovered{Digest: "d1"} }), true, false},
		{"masks", with(func(d *toolspec.Definition) { d.Redaction.MaskInput = nil }), true, false},
		{"description of a field", tool[otherDescription, out](definition()), true, true},
		{"type of a field", tool[otherType, out](definition()), true, true},
		{"output", tool[in, otherOut](definition()), true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := bind(t, tc.tool).Spec()
			if (got.Digest != whole.Digest()) != tc.digest {
				t.Errorf("the digest changed: %v", !tc.digest)
			}
			if (got.SchemaHash != whole.Spec().SchemaHash) != tc.schemaHash {
				t.Errorf("the schema hash changed: %v", !tc.schemaHash)
			}
		})
	}
	reviewed := func(review string) toolspec.Tool {
		return with(func(d *toolspec.Definition) { d.Discovered = &toolspec.Discovered{Digest: "d1", Review: review} })
	}
	if bind(t, reviewed("")).Digest() == bind(t, reviewed("r1")).Digest() {
		t.Error("the review does not change the digest")
	}
	if got := bind(t, tool[otherOrder, out](definition())).Spec(); got.SchemaHash != whole.Spec().SchemaHash || got.Digest != whole.Digest() {
		t.Error("the order of fields in the code changes digests")
	}
}

// TestSpecIsACopy: who writes into a spec that a bound tool returned writes into nothing of the tool's.
func TestSpecIsACopy(t *testing.T) {
	d := definition()
	d.RequiresConnection, d.Scopes, d.Tags = true, []string{"files.read"}, []string{"files"}
	b := bind(t, tool[in, out](d))
	before, err := json.Marshal(b.Spec())
	if err != nil {
		t.Fatal(err)
	}
	s := b.Spec()
	for _, list := range [][]string{s.Capabilities, s.Scopes, s.Tags, s.Redaction.Allow, s.Redaction.MaskInput} {
		if len(list) == 0 {
			t.Fatalf("this tests nothing: %+v", s)
		}
		list[0] = "written"
	}
	s.InputSchema[0], s.OutputSchema[0] = ' ', ' '
	if after, err := json.Marshal(b.Spec()); err != nil || string(after) != string(before) {
		t.Errorf("%s became %s, %v", before, after, err)
	}
}
