package hydrate_test

import (
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// pathed is a validator that reports a problem at one path, for any arguments.
type pathed string

func (pathed) Info() toolspec.ValidatorInfo { return toolspec.ValidatorInfo{Name: "pathed"} }
func (p pathed) Validate(json.RawMessage) []toolspec.Problem {
	return []toolspec.Problem{{Path: string(p), Kind: "type_mismatch", Message: "no"}}
}

// TestPathsOfAnotherValidator: a path that does not exist is reported unchanged and gets no
// explanation.
func TestPathsOfAnotherValidator(t *testing.T) {
	for _, doc := range []string{`{"properties":{"l":{"items":{"type":"number"}}}}`, `{"properties":{"l":{"prefixItems":[{"type":"number"}]}}}`} {
		tool := target(t)
		tool.Schema = json.RawMessage(doc)
		for path, want := range map[string]string{"/l/0": "string", "/l/-1": "", "/l/1": "", "/l/99999999999999999999": "", "/l/x": "", "/l/-1/2": "", "l": "object"} {
			tool.Validator = pathed(path)
			if r := tool.Hydrate(json.RawMessage(`{"l":["a"]}`)); r.Success || r.Problems()[0].Path != path || r.Problems()[0].Got != want {
				t.Errorf("%s of %s: %+v", path, doc, r.Problems())
			}
		}
	}
}

// TestTargetsWithoutSchema: a tool without a schema that its author does not let run, even with an approval, does not hydrate, as in a
// worker.
func TestTargetsWithoutSchema(t *testing.T) {
	for mode, runs := range map[toolspec.NoSchemaMode]bool{toolspec.NoSchemaAsk: true, toolspec.NoSchemaDeny: false, "": false} {
		tool := target(t, func(s *toolspec.Spec) { s.NoSchema, s.NoSchemaMode = true, mode })
		r := tool.Hydrate(json.RawMessage(`{"any":1}`))
		if r.Success != runs || !runs && r.Errors[0].Detail.Kind != hydrate.KindNoSchema {
			t.Errorf("mode %q: %+v", mode, r)
		}
	}
}
