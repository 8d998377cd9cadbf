package jsonschema

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestOutline(t *testing.T) {
	root := Outline(json.RawMessage(`{"required":5,"allOf":7,"properties":{
		"ref":{"$ref":"#/$defs/a~1b"},"again":{"$ref":"#/properties/ref"},"loop":{"$ref":"#/properties/loop"},
		"lost":{"$ref":"#/$defs/none"},"away":{"$ref":"https://example.com/x"},"none":null,
		"map":{"additionalProperties":{"type":"boolean"}},"patterns":{"patternProperties":{"^x":{}},"additionalProperties":{"type":"null"}},
		"list":{"items":{"$ref":"#/$defs/a~1b"}},"tuple":{"items":[{"type":"null"},true]},"prefix":{"prefixItems":[{"type":"array"}]}},
		"$defs":{"a/b":{"type":["string","null"]}}}`))
	for name, want := range map[string][]string{
		"ref": {"string", "null"}, "again": {"string", "null"}, "map": {}, "unknown": nil, "loop": nil, "lost": nil, "away": nil, "none": nil,
	} {
		if got := root.Member(name).Types(); !slices.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	for name, got := range map[string]*Node{
		"boolean": root.Member("map").Member("any"), "string": root.Member("list").Element(3),
		"null": root.Member("tuple").Element(0), "array": root.Member("prefix").Element(0),
	} {
		if types := got.Types(); len(types) == 0 || types[0] != name {
			t.Errorf("got %v, want %s", types, name)
		}
	}
	if root.Member("patterns").Member("x") != nil || root.Member("tuple").Element(2) != nil || root.Member("tuple").Element(-1) != nil || root.List("allOf") != nil {
		t.Error("the outline has types that the document does not give directly")
	}
	for _, doc := range []string{``, `[`, `7`, `{"type":"object"`} {
		if n := Outline(json.RawMessage(doc)); n == nil || n.Object != nil {
			t.Errorf("%s: got %+v", doc, n)
		}
	}
}
