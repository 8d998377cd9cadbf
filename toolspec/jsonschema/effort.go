package jsonschema

// maxEffort bounds one validation, in steps: applications of a schema to a value. The evaluator
// makes about ten million steps per second. Without the bound, a document of a few lines whose
// branches all recurse needs 2^depth steps.
const maxEffort = 500_000

// ownWeight returns the steps of the comparisons in the schema itself: long enumerations and long
// lists of required fields.
func (n *Node) ownWeight() int {
	enum, _ := n.Object["enum"].([]any)
	required, _ := n.Object["required"].([]any)
	return len(enum)/8 + len(required)/16
}

// busy reports whether a value may cost much more than one step per schema that applies to it.
// Otherwise the size of the instance bounds the effort.
func (n *Node) busy() bool {
	if n.Ref != nil || n.program > 200 || n.ownWeight() > 8 || n.Object["uniqueItems"] == true || n.Object["dependentRequired"] != nil {
		return true
	}
	for _, s := range n.Subs {
		if AppliesInPlace(s.Keyword) || s.Keyword == "contains" || s.Keyword == "patternProperties" || s.To.busy() {
			return true
		}
	}
	return false
}

func (e *evaluator) spend(steps int) bool {
	if e.bounded {
		if e.left -= steps; e.left < 0 {
			e.over = true
		}
	}
	return !e.over
}

// size returns the number of steps to read a whole value again.
func (e *evaluator) size(i int) int { return int(e.t.Items[i].End-e.t.Items[i].Start) / 64 }

// searches spends the steps of a search for so many names among the members of a value.
func (e *evaluator) searches(names, i int) bool {
	return e.spend(names * int(e.t.Items[i].Count) / 16)
}
