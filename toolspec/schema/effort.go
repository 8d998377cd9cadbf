package schema

import (
	"reflect"
	"strconv"
)

// maxEffort bounds one validation, in applications of a schema to a value; the
// validator makes about a million a second and cannot be interrupted. Without
// it a document of a few lines whose branches all recurse needs 2^depth.
const maxEffort = 200_000

// ownWeight counts the comparisons that a schema makes besides its subschemas:
// enumerations, and for each absent field a search of the required ones.
func (n *node) ownWeight() int {
	enum, _ := n.object["enum"].([]any)
	required, _ := n.object["required"].([]any)
	return len(enum)/8 + len(n.fields)*(len(required)+8)/512
}

// busy reports whether some value may cost much more than one step for each
// schema it meets. Without that, the size of the instance bounds the effort.
func (n *node) busy() bool {
	if n.ref != nil || n.program > 200 || n.ownWeight() > 8 {
		return true
	}
	for _, s := range n.subs {
		if inPlace(s.keyword) || s.keyword == "contains" || s.keyword == "patternProperties" || s.to.busy() {
			return true
		}
	}
	return false
}

// effort estimates, from above, what one validation will cost. It never meets
// a pair of schema and container twice, so it is cheap where the validation is
// not. Anything above maxEffort counts as maxEffort+1.
type effort struct {
	known map[meeting]int
}

type meeting struct {
	schema *node
	value  uintptr
}

// adder adds the cost of validating a value against a schema.
type adder func(*node, any)

func (e *effort) of(n *node, value any) int {
	switch value := value.(type) {
	case map[string]any:
		return e.container(n, value, reflect.ValueOf(value).Pointer(), func(add adder) {
			n.meetFields(value, add)
		})
	case []any:
		if len(value) == 0 {
			return n.weight // empty slices share an address
		}
		return e.container(n, value, reflect.ValueOf(value).Pointer(), func(add adder) {
			n.meetElements(value, add)
		})
	case string:
		return bounded(n.weight + n.program*(len(value)+1)/256)
	default:
		return n.weight
	}
}

func (e *effort) container(n *node, value any, address uintptr, children func(adder)) int {
	key := meeting{n, address}
	if known, ok := e.known[key]; ok {
		return known
	}
	if len(e.known) > maxEffort {
		return maxEffort + 1
	}
	total := 1 + n.ownWeight()
	add := func(to *node, v any) {
		if total <= maxEffort {
			total = bounded(total + e.of(to, v))
		}
	}
	for next := range n.applied {
		add(next, value)
	}
	children(add)
	e.known[key] = total
	return total
}

func (n *node) meetFields(object map[string]any, add adder) {
	for name, value := range object {
		if field := n.fields[name]; field != nil {
			add(field, value)
		}
	}
	for _, name := range n.names("required") {
		if _, present := object[name]; !present && n.fields[name] != nil {
			add(n.fields[name], nil) // the validator does so too
		}
	}
	for _, s := range n.subs {
		switch s.keyword {
		case "patternProperties", "additionalProperties", "unevaluatedProperties":
			for _, value := range object {
				add(s.to, value)
			}
		case "propertyNames":
			for name := range object {
				add(s.to, name)
			}
		}
	}
}

func (n *node) meetElements(array []any, add adder) {
	for _, s := range n.subs {
		switch s.keyword {
		case "items", "prefixItems", "additionalItems", "contains", "unevaluatedItems":
		default:
			continue
		}
		if i, err := strconv.Atoi(s.token); err == nil { // one place of a tuple
			if i < len(array) {
				add(s.to, array[i])
			}
			continue
		}
		for _, value := range array {
			add(s.to, value)
		}
	}
}

func bounded(total int) int { return min(total, maxEffort+1) }
