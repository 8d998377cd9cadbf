package schema_test

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/schema"
)

// TestProjectAgreesWithRedaction: a valid output is valid under the projection after redaction.
func TestProjectAgreesWithRedaction(t *testing.T) {
	doc := json.RawMessage(`{"type":"object","additionalProperties":false,"required":["a","list","map"],"properties":{
		"a":{"type":"integer"},
		"list":{"type":"array","items":{"type":["object","null"],"additionalProperties":false,"required":["x"],"properties":{"x":{"type":"integer"},"y":{"type":"string"}}}},
		"map":{"type":"object","additionalProperties":{"$ref":"#/$defs/e"}},
		"opt":{"oneOf":[{"$ref":"#/$defs/e"},{"type":"null"}]},
		"any":{}},
		"$defs":{"e":{"type":"object","required":["v","w"],"properties":{"v":{"type":"string"},"w":{"type":"array","items":{"type":"integer"}}}}}}`)
	full, err := jsonschema.Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	patterns := []string{"/a", "/list", "/list/*", "/list/*/x", "/list/*/y", "/map/*/v", "/map/k", "/map/k/w", "/map/*/w/*", "/opt/v", "/opt", "/any/deep", "/any", "/*/v", "/*/*/v", "/*"}
	rapid.Check(t, func(t *rapid.T) {
		entry := rapid.Custom(func(t *rapid.T) any {
			return map[string]any{"v": "s", "w": rapid.SliceOfN(rapid.IntRange(0, 3), 0, 2).Draw(t, "w"), rapid.SampledFrom([]string{"v", "z"}).Draw(t, "k"): "s"}
		})
		item := rapid.Custom(func(t *rapid.T) any {
			if rapid.Bool().Draw(t, "null") {
				return nil
			}
			v := map[string]any{"x": 1}
			if rapid.Bool().Draw(t, "y") {
				v["y"] = "s"
			}
			return v
		})
		value := map[string]any{
			"a": 1, "list": rapid.SliceOfN(item, 0, 3).Draw(t, "list"),
			"map": rapid.MapOfN(rapid.SampledFrom([]string{"k", "l"}), entry, 0, 2).Draw(t, "map"),
		}
		if rapid.Bool().Draw(t, "opt?") {
			value["opt"] = rapid.OneOf(entry, rapid.Just[any](nil)).Draw(t, "opt")
		}
		if rapid.Bool().Draw(t, "any?") {
			value["any"] = rapid.OneOf(entry, rapid.Just[any](7), rapid.Just[any](map[string]any{"deep": 1})).Draw(t, "any")
		}
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if problems := full.Validate(raw); problems != nil {
			t.Fatalf("%s: %v", raw, problems)
		}
		allow := rapid.SliceOfNDistinct(rapid.SampledFrom(patterns), 1, 4, rapid.ID[string]).Draw(t, "allow")
		slices.Sort(allow)
		projected, err := schema.Project(doc, allow)
		if err != nil {
			t.Fatalf("%v: %v", allow, err)
		}
		part, err := jsonschema.Compile(projected)
		if err != nil {
			t.Fatal(err)
		}
		left, err := toolspec.Redaction{Allow: allow}.Output(raw)
		if err != nil {
			t.Fatal(err)
		}
		if problems := part.Validate(left); problems != nil {
			t.Fatalf("%v of %s left %s: %v\n%s", allow, raw, left, problems, projected)
		}
	})
}
