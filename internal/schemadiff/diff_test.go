package schemadiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	kaptinlin "github.com/kaptinlin/jsonschema"
	santhosh "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/schema/schematest"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// library judges an instance. compiles is false where the library does not compile the
// document, or panics.
type library struct {
	name  string
	judge func(doc, instance []byte) (valid, compiles bool)
	known []difference
}

var libraries = []library{
	{"kaptinlin", byKaptinlin, kaptinlinErrs},
	{"santhosh-tekuri", bySanthosh, santhoshErrs},
}

func byKaptinlin(doc, instance []byte) (valid, compiles bool) {
	defer func() {
		if recover() != nil {
			compiles = false
		}
	}()
	compiler := kaptinlin.NewCompiler().SetAssertFormat(true)
	clear(compiler.Loaders)
	s, err := compiler.Compile(doc)
	if err != nil {
		return false, false
	}
	value, err := strictjson.Decode(instance)
	if err != nil {
		return false, false
	}
	return s.ValidateStruct(value).IsValid(), true
}

func bySanthosh(doc, instance []byte) (valid, compiles bool) {
	defer func() {
		if recover() != nil {
			compiles = false
		}
	}()
	document, err := santhosh.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return false, false
	}
	compiler := santhosh.NewCompiler()
	compiler.UseLoader(santhosh.SchemeURLLoader{}) // nothing is fetched
	compiler.AssertFormat()
	compiler.AssertContent()
	if err := compiler.AddResource("mem:///document.json", document); err != nil {
		return false, false
	}
	s, err := compiler.Compile("mem:///document.json")
	if err != nil {
		return false, false
	}
	value, err := santhosh.UnmarshalJSON(bytes.NewReader(instance))
	if err != nil {
		return false, false
	}
	return s.Validate(value) == nil, true
}

// TestCases: the libraries have the verdicts that were written by hand, but for the
// differences that are known, each of which still exists.
func TestCases(t *testing.T) {
	for _, lib := range libraries {
		t.Run(lib.name, func(t *testing.T) {
			known := map[string]bool{}
			for _, k := range lib.known {
				for d := k.from; d <= k.to; d++ {
					for _, value := range k.values {
						known[fmt.Sprintf("%s of %s under %s", jsonschema.Draft(d), value, k.schema)] = true
					}
				}
			}
			for _, c := range schematest.Cases() {
				for d := c.From; d <= c.To; d++ {
					for i, list := range [][]json.RawMessage{c.Good, c.Wrong} {
						for _, value := range list {
							name := fmt.Sprintf("%s of %s under %s", jsonschema.Draft(d), value, c.Schema)
							valid, compiles := lib.judge(c.Document(d), c.Instance(value))
							agrees := compiles && valid == (i == 0)
							if agrees == known[name] {
								t.Errorf("line %d, %s: the library says %v (compiles: %v), known to differ: %v", c.Line, name, valid, compiles, known[name])
							}
							delete(known, name)
						}
					}
				}
			}
			for name := range known {
				t.Errorf("%s is no case", name)
			}
		})
	}
}

// TestGenerated: the same for documents that nobody chose, and values of one against
// another.
func TestGenerated(t *testing.T) {
	good, wrong := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		a := schematest.Pairs(schematest.Maps).Draw(t, "a")
		b := schematest.Pairs(schematest.Maps).Draw(t, "b")
		s, err := jsonschema.Compile(a.Schema)
		if err != nil {
			t.Fatalf("%s: %v", a.Schema, err)
		}
		for _, value := range []json.RawMessage{a.Value, b.Value} {
			ours := s.Validate(value) == nil
			for _, lib := range libraries {
				if theirs, compiles := lib.judge(a.Schema, value); !compiles || ours != theirs {
					t.Fatalf("%s under %s: we say %v, %s %v (compiles: %v)", value, a.Schema, ours, lib.name, theirs, compiles)
				}
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
