package jsonschema

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Validate returns the problems of instance, or nil. The first problem decides (VA-01): invalid
// JSON, missing required fields, types, values, unknown fields. The list is the same for the same
// instance and has at most 32 problems. The search stops at the 32nd problem, so the list has the
// first problems in the text of the instance; missing fields of an object come before problems
// inside of it. Messages contain names of fields and rules, never values.
//
// Numbers are compared as written, not as float64. [strictjson.ExactNumber] says whether arguments can have a
// digest. 1.0 is an integer, as in every draft since 06. Validate does not insert defaults. A valid
// instance costs no allocation.
func (s *Schema) Validate(instance json.RawMessage) []Problem {
	t, fault := strictjson.Read(instance)
	defer t.Release()
	if fault != nil {
		return []Problem{{Path: fault.Path.Short(), Kind: Kind(fault.Kind()), Message: fault.Error()}}
	}
	e := evaluator{t: t, left: maxEffort, bounded: s.busy}
	if e.ok(s.root, 0, nil) && !e.over {
		return nil
	}
	if e.over {
		return tooMuchWork()
	}
	return s.explain(e)
}

func (s *Schema) explain(e evaluator) []Problem {
	e.left = maxEffort
	x := &explainer{evaluator: e}
	x.visit(s.root, 0, nil, nil)
	if x.over && !x.full() {
		return tooMuchWork()
	}
	if len(x.problems) == 0 {
		x.invalid(nil, "does not match the schema")
	}
	return settle(x.problems)
}

func tooMuchWork() []Problem {
	return []Problem{{Kind: KindTooComplex, Message: "Validation would take too much work: send less or flatter data"}}
}
