package schema

import (
	"encoding/json"
	"testing"
)

// strictArgs writes arguments of a document in the strict form of a target: the
// inverse of [Mapping.Restore]. The arguments must be valid; where alternatives
// are open, the first that takes them counts.
func strictArgs(t *testing.T, doc string, target Target, mapping *Mapping, args string) json.RawMessage {
	t.Helper()
	root, _, err := lowerTraced(json.RawMessage(doc), dialects[target])
	if err != nil {
		t.Fatal(err)
	}
	value, err := decode([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := encode(mapping.encode(value, root, 0))
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func (m Mapping) encode(value any, n *node, place int) any {
	if n.ref != nil {
		return m.encode(value, n.ref, place)
	}
	for _, sub := range n.subs {
		if sub.keyword == "anyOf" && sub.to.accepts(value) {
			return m.encode(value, sub.to, place)
		}
	}
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(n.fields))
		for name, inner := range value {
			out[name] = inner
		}
		for name, field := range n.fields {
			inner, present := value[name]
			f := m.Places[place].Fields[name]
			switch {
			case !present:
				out[name] = nil
				continue
			case f.Mode == Wrapped:
				out[name] = map[string]any{wrappedName: m.encode(inner, field, f.Place)}
			default:
				out[name] = m.encode(inner, field, f.Place)
			}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, inner := range value {
			out[i] = inner
			for _, sub := range n.subs {
				if sub.keyword == "items" {
					out[i] = m.encode(inner, sub.to, *m.Places[place].Items)
				}
			}
		}
		return out
	}
	return value
}
