package jsonschema

// maxEffort bounds one validation, in applications of a schema to a value; the
// evaluator makes some ten million a second. Without it a document of a few
// lines whose branches all recurse needs 2^depth.
const maxEffort = 500_000

// ownWeight counts the comparisons that a schema makes besides its subschemas:
// long enumerations and long lists of required fields.
func (n *Node) ownWeight() int {
	enum, _ := n.Object["enum"].([]any)
	required, _ := n.Object["required"].([]any)
	return len(enum)/8 + len(required)/16
}

// busy reports whether some value may cost much more than one step for each
// schema it meets. Without that, the size of the instance bounds the effort.
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

// size is the steps of reading a whole value once more.
func (e *evaluator) size(i int) int { return int(e.t.Items[i].End-e.t.Items[i].Start) / 64 }

// searches spends the steps of looking for so many names among the members.
func (e *evaluator) searches(names, i int) bool {
	return e.spend(names * int(e.t.Items[i].Count) / 16)
}
