package jsonschema

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Validate returns what is wrong with instance, or nil. The list is sorted so
// that the first problem decides (VA-01): unreadable JSON, missing required
// fields, types, values, unknown fields; it is the same for the same instance
// and holds at most 32 entries. The search stops at the 32nd problem, so of an
// instance with more the list has those that stand first in its text; an object's
// missing fields come before what is wrong inside of it. Messages name fields and
// rules, never values.
//
// Numbers are compared as written, not as float64; whether arguments may be
// digested is the question of [ExactNumber]. 1.0 is an integer, as in every
// draft since 06. Defaults are not filled in. A valid instance costs no
// allocation for itself.
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
