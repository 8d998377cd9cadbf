package schema

import (
	"bytes"
	"slices"
	"testing"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// FuzzCompile gives documents to every function of the package. None may panic, and every document
// that is written from a valid document must be valid.
func FuzzCompile(f *testing.F) {
	f.Add([]byte(rich))
	f.Add([]byte(`{"type":"object","id":"x","properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`))
	f.Add([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"items":[{"$ref":"#/properties/a/items/0/x"}]}},"dependencies":{"a":["b"],"b":{}}}`))
	f.Add([]byte(`{"type":"object","$defs":{"a":{"properties":{"n":{"$ref":"#/$defs/a"}},"allOf":[{"$ref":"#/$defs/b"}]},"b":{"anyOf":[{"type":"null"},{"properties":{"x":{"$ref":"#/$defs/a"}}}]}},"properties":{"r":{"$ref":"#/$defs/a"}},"oneOf":[{"$ref":"#/$defs/b"},{"required":["r"]}]}`))
	f.Add([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","deprecated":"text","allOf":[{"properties":{"b":{}}}]}`))
	f.Add([]byte(`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","examples":"x","allOf":[{"properties":{"b":{}}}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		_ = jsonschema.Outline(doc).Member("a").Element(0).Types()
		s, err := jsonschema.Compile(doc)
		if err != nil {
			return
		}
		if string(s.Document()) != string(doc) {
			t.Fatal("the document was changed")
		}
		document, _, err := Close(doc)
		if err != nil {
			t.Fatalf("close: %v", err)
		}
		closed, err := jsonschema.Compile(document)
		if err != nil {
			t.Fatalf("closed: %v", err)
		}
		checkKept(t, doc, document)
		if _, err := Lint(doc); err != nil {
			t.Fatal(err)
		}
		for _, target := range allTargets() {
			sent, err := Down(doc, target)
			if err != nil {
				continue // too large
			}
			if target == Ollama {
				checkKept(t, doc, sent.Document)
			}
			if target != Gemini {
				if _, err := jsonschema.Compile(sent.Document); err != nil {
					t.Fatalf("%s: %s: %v", target, sent.Document, err)
				}
			}
			if sent.Mapping != nil {
				// Restore must not panic, whether or not the arguments have the strict form.
				_, _ = sent.Mapping.Restore([]byte(`{"a":null,"b":[{"x":null}],"r":{"n":null}}`))
			}
		}
		for _, args := range []string{`{}`, `{"a":1}`, `{"a":[1,{"x":null}],"b":{"n":{}}}`, `{"r":{"n":{"n":1}},"query":"x"}`} {
			if closed.Validate([]byte(args)) == nil && s.Validate([]byte(args)) != nil {
				t.Fatalf("%s: the closed document accepts more", args)
			}
		}
	})
}

// checkKept checks that the fields of every schema in a written document have the order of the
// document, except where a composition mixes them.
func checkKept(t *testing.T, doc, written []byte) {
	t.Helper()
	if bytes.Contains(doc, []byte(`Of"`)) || bytes.Contains(doc, []byte(`$ref`)) {
		return
	}
	lists := ordersOf(t, doc)
	for _, names := range ordersOf(t, written) {
		if !slices.ContainsFunc(lists, func(list []string) bool {
			rest := names
			for _, name := range list {
				if len(rest) > 0 && rest[0] == name {
					rest = rest[1:]
				}
			}
			return len(rest) == 0
		}) {
			t.Fatalf("%s lists %v in another order", written, names)
		}
	}
}

func ordersOf(t *testing.T, doc []byte) (lists [][]string) {
	t.Helper()
	root, err := jsonschema.Parse(doc)
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	_ = root.Walk(func(n *jsonschema.Node) error {
		if n.Order != nil {
			lists = append(lists, n.Order)
		}
		return nil
	})
	return lists
}
