package schema

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// ordered holds documents whose fields are in reverse alphabetical order.
var ordered = map[string]string{
	"plain":          `"properties":{"zeta":{"type":"string"},"mid":{"type":"object","properties":{"y":{"type":"string"},"b":{"type":"integer"}},"required":["y"]},"alpha":{"type":"integer"}},"required":["zeta","alpha"]`,
	"a list":         `"properties":{"list":{"type":"array","items":{"type":"object","properties":{"y":{"type":"string"},"b":{"type":"integer"}}}},"alpha":{"type":"string"}}`,
	"a $ref":         `"definitions":{"d":{"type":"object","properties":{"y":{"type":"string"},"b":{"type":"integer"}}}},"properties":{"zeta":{"$ref":"#/definitions/d"},"alpha":{"$ref":"#/definitions/d"}}`,
	"allOf":          `"allOf":[{"properties":{"z":{"type":"string"},"y":{"type":"string"}}},{"properties":{"x":{"type":"string"},"a":{"type":"string"}}}]`,
	"in a field":     `"properties":{"zeta":{"allOf":[{"type":"object","properties":{"z":{"type":"string"},"y":{"type":"string"}}},{"properties":{"x":{"type":"string"},"a":{"type":"string"}}}]},"alpha":{"type":"string"}}`,
	"anyOf":          `"anyOf":[{"properties":{"z":{"type":"string"},"y":{"type":"string"}}},{"properties":{"x":{"type":"string"},"a":{"type":"string"}}}]`,
	"an alternative": `"properties":{"v":{"anyOf":[{"type":"object","properties":{"z":{"type":"string"},"y":{"type":"string"}}},{"type":"object","properties":{"x":{"type":"string"},"a":{"type":"string"}}}]}}`,
	"escaped":        `"properties":{"z\u0061":{"type":"string"},"\u0062":{"type":"string"},"a":{"type":"string"}}`,
}

// TestFieldsKeepTheirOrder: every form of a schema lists its fields in the order of the document,
// because a model fills them in this order.
func TestFieldsKeepTheirOrder(t *testing.T) {
	for name, words := range ordered {
		for _, d := range []jsonschema.Draft{jsonschema.Draft07, jsonschema.Draft2020} {
			doc := json.RawMessage(`{"$schema":"` + d.URI() + `","type":"object",` + words + `}`)
			closed, _, err := Close(doc)
			if err != nil {
				t.Fatal(err)
			}
			checkOrder(t, name+", closed", closed)
			if root, _ := jsonschema.Parse(doc); root.Fields != nil {
				var paths []string
				for field := range root.Fields {
					paths = append(paths, "/"+field)
				}
				slices.Sort(paths)
				projected, err := Project(doc, paths)
				if err != nil {
					t.Fatal(err)
				}
				checkOrder(t, name+", projected", projected)
			}
			for _, target := range allTargets() {
				sent, err := Down(doc, target)
				if err != nil {
					t.Fatal(err)
				}
				checkOrder(t, name+", "+string(target), sent.Document)
				if strings.HasSuffix(string(target), "-strict") {
					checkRequired(t, name+", "+string(target), sent.Document)
				}
			}
		}
	}
	nested, err := Project(json.RawMessage(`{"type":"object",`+ordered["plain"]+`}`), []string{"/alpha", "/mid/b", "/mid/y", "/zeta"})
	if err != nil {
		t.Fatal(err)
	}
	checkOrder(t, "projected in part", nested)
}

// checkOrder checks that the fields in every properties of a document are in reverse alphabetical
// order.
func checkOrder(t *testing.T, name string, doc json.RawMessage) {
	t.Helper()
	listed := 0
	eachOrder(t, doc, func(names []string, _ []string) {
		listed += len(names)
		if !slices.IsSortedFunc(names, func(a, b string) int { return strings.Compare(b, a) }) {
			t.Errorf("%s: %v in %s", name, names, doc)
		}
	})
	if listed == 0 {
		t.Errorf("%s: no fields in %s", name, doc)
	}
}

// checkRequired checks that required, which in the strict form lists every field, has the order of
// the fields.
func checkRequired(t *testing.T, name string, doc json.RawMessage) {
	t.Helper()
	eachOrder(t, doc, func(names, required []string) {
		if !slices.Equal(names, required) {
			t.Errorf("%s: requires %v of %v", name, required, names)
		}
	})
}

func eachOrder(t *testing.T, doc json.RawMessage, each func(names, required []string)) {
	t.Helper()
	tape, fault := strictjson.Read(doc)
	defer tape.Release()
	if fault != nil {
		t.Fatal(fault)
	}
	for i, item := range tape.Items {
		if item.Kind != '{' {
			continue
		}
		fields := tape.Member(i, "properties")
		if fields == 0 || tape.Items[fields].Kind != '{' {
			continue
		}
		var names, required []string
		for j := fields + 1; j < int(tape.Items[fields].Next); j = int(tape.Items[j+1].Next) {
			names = append(names, tape.Text(j))
		}
		if list := tape.Member(i, "required"); list != 0 {
			for j := list + 1; j < int(tape.Items[list].Next); j++ {
				required = append(required, tape.Text(j))
			}
		}
		each(names, required)
	}
}
