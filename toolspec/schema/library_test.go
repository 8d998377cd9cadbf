package schema

import (
	"encoding/json"
	"testing"

	"github.com/kaptinlin/jsonschema"
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
