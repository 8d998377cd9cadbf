package schema

import "encoding/json"

// Validate returns what is wrong with instance, or nil. The list is sorted so
// that the first problem decides (VA-01): unreadable JSON, missing required
// fields, types, values, unknown fields; it is the same for the same instance
// and holds at most 32 entries. Messages name fields and rules, never values.
//
// Numbers are compared as written, not as float64; whether arguments may be
// digested is the question of [CheckNumbers]. 1.0 is an integer, as in every
// draft since 06. Defaults are not filled in.
func (s *Schema) Validate(instance json.RawMessage) []Problem {
	if problem := CheckJSON(instance); problem != nil {
		return []Problem{*problem}
	}
	value, err := decode(instance)
	if err != nil {
		return []Problem{{Kind: KindInvalidJSON, Message: "Invalid JSON"}}
	}
	if s.weigh {
		estimate := effort{known: map[meeting]int{}}
		if estimate.of(s.root, value) > maxEffort {
			return []Problem{{Kind: KindTooComplex, Message: "Validation would take too much work: send less or flatter data"}}
		}
	}
	if s.serial != nil {
		// The library rebuilds its table of property patterns at every use.
		s.serial.Lock()
		defer s.serial.Unlock()
	}
	result := s.compiled.ValidateStruct(value)
	if result.IsValid() {
		return nil
	}
	e := &explainer{}
	e.visit(result, s.compiled, value, nil)
	if len(e.problems) == 0 {
		e.add(nil, KindInvalidValue, "Invalid value for field: (root) (does not match the schema)")
	}
	return settle(e.problems)
}
