package schema

import (
	"encoding/json"
	"testing"

	"github.com/kaptinlin/jsonschema"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec/schema/schematest"
)

// byLibrary is the verdict of a library that others wrote; ok is false where it
// does not compile or crashes.
func byLibrary(doc, instance []byte) (valid, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	compiler := jsonschema.NewCompiler().SetAssertFormat(true)
	clear(compiler.Loaders)
	s, err := compiler.Compile(doc)
	if err != nil {
		return false, false
	}
	value, err := decode(instance)
	if err != nil {
		return false, false
	}
	return s.ValidateStruct(value).IsValid(), true
}

// libraryErrs are the schemas of testdata/cases.txt where the library is known
// to be wrong; each was looked up in the specification.
var libraryErrs = map[string]string{
	`{"type":"integer"}`:                      "draft-04: 1.0 is no integer",
	`{"format":"regex"}`:                      "expressions of ECMA-262 that RE2 lacks",
	`{"format":"something-else"}`:             "unknown formats are annotations",
	`{"contentMediaType":"application/json"}`: "an annotation",
	`{"contentMediaType":"application/json","contentSchema":{"type":"integer"}}`: "an annotation",
	`{"contains":{"type":"string"},"unevaluatedItems":false}`:                    "2019-09: contains evaluates nothing",
	`{"unevaluatedItems":{"type":["array","string"],"prefixItems":[true,true]}}`: "indices of an element taken for those of the array",
}

// Two readers of the same specification seldom make the same mistake.
func TestLibraryAgrees(t *testing.T) {
	for _, c := range schemaCases(t) {
		for d := c.from; d <= c.to; d++ {
			doc := []byte(c.document(d))
			for i, list := range [][]json.RawMessage{c.good, c.wrong} {
				for _, value := range list {
					valid, ok := byLibrary(doc, []byte(c.instance(value)))
					if (!ok || valid != (i == 0)) && libraryErrs[c.schema] == "" {
						t.Errorf("line %d, %s: the library says %v (%v) of %s under %s", c.line, d, valid, ok, value, c.schema)
					}
				}
			}
		}
	}
}

// The same for documents that nobody chose: values of one against another.
func TestLibraryAgreesOnGenerated(t *testing.T) {
	good, wrong := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		a := schematest.Pairs(schematest.Maps).Draw(t, "a")
		b := schematest.Pairs(schematest.Maps).Draw(t, "b")
		s, err := Compile(a.Schema)
		if err != nil {
			t.Fatalf("%s: %v", a.Schema, err)
		}
		for _, value := range []json.RawMessage{a.Value, b.Value} {
			ours := s.Validate(value) == nil
			theirs, ok := byLibrary(a.Schema, value)
			if !ok || ours != theirs {
				t.Fatalf("%s under %s: we say %v, the library %v", value, a.Schema, ours, theirs)
			}
			if ours {
				good++
			} else {
				wrong++
			}
		}
	})
	if good == 0 || wrong == 0 {
		t.Errorf("%d valid, %d not: nothing is tested", good, wrong)
	}
}
