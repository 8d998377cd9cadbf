package schema_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/schema"
	"github.com/pawl-run/pawl/toolspec/schema/schematest"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// TestStrictRoundTrip: a valid value is valid in the strict form too, and Restore returns the
// original. The mapping is decoded from its JSON.
func TestStrictRoundTrip(t *testing.T) {
	wrapped, nulls := 0, 0
	roundTrip := func(t *rapid.T) {
		pair := schematest.Pairs().Draw(t, "pair")
		original, err := jsonschema.Compile(pair.Schema)
		if err != nil {
			t.Fatalf("%s: %v", pair.Schema, err)
		}
		if problems := original.Validate(pair.Value); problems != nil {
			t.Fatalf("the generator is wrong: %s under %s: %v", pair.Value, pair.Schema, problems)
		}
		for _, target := range []schema.Target{schema.OpenAIStrict, schema.AnthropicStrict} {
			sent, err := schema.Down(pair.Schema, target)
			if err != nil {
				t.Fatalf("%s: %v", pair.Schema, err)
			}
			for _, f := range sent.Findings {
				if f.Effect == schema.Tightened {
					t.Fatalf("%s: %+v", pair.Schema, f)
				}
			}
			strict, err := jsonschema.Compile(sent.Document)
			if err != nil {
				t.Fatalf("%s: %v", sent.Document, err)
			}
			kept, err := json.Marshal(sent.Mapping)
			if err != nil {
				t.Fatal(err)
			}
			encoded := pair.Strict(kept)
			if problems := strict.Validate(encoded); problems != nil {
				t.Fatalf("schema %s\nvalue %s\nstrict %s\nencoded %s\n%v", pair.Schema, pair.Value, sent.Document, encoded, problems)
			}
			var mapping schema.Mapping
			if err := json.Unmarshal(kept, &mapping); err != nil {
				t.Fatal(err)
			}
			back, err := mapping.Restore(encoded)
			if err != nil {
				t.Fatalf("%s: %v", encoded, err)
			}
			if !same(t, back, pair.Value) {
				t.Fatalf("schema %s\nstrict %s\nencoded %s\ngot  %s\nwant %s", pair.Schema, sent.Document, encoded, back, pair.Value)
			}
			for _, p := range mapping.Places {
				for _, f := range p.Fields {
					if f.Mode == schema.Wrapped {
						wrapped++
					}
					if f.Mode == schema.Null {
						nulls++
					}
				}
			}
		}
	}
	for range 10 { // a hundred each
		rapid.Check(t, roundTrip)
	}
	if wrapped == 0 || nulls == 0 {
		t.Errorf("%d wrapped fields, %d nullable ones: the generator tests nothing", wrapped, nulls)
	}
}

func same(t interface{ Fatal(args ...any) }, a, b json.RawMessage) bool {
	x, err := strictjson.Digest(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := strictjson.Digest(b)
	if err != nil {
		t.Fatal(err)
	}
	return x == y
}
