package schema

import (
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// strictArgs encodes arguments of a document in the strict form of a target: the inverse of
// [Mapping.Restore]. The arguments must be valid. Of open alternatives, the first that accepts them
// counts.
func strictArgs(t *testing.T, doc string, target Target, mapping *Mapping, args string) json.RawMessage {
	t.Helper()
	root, _, err := lowerTraced(json.RawMessage(doc), dialects[target])
	if err != nil {
		t.Fatal(err)
	}
	value, err := strictjson.Decode([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := strictjson.Encode(mapping.encode(value, root, 0))
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func (m Mapping) encode(value any, n *jsonschema.Node, place int) any {
	if n.Ref != nil {
		return m.encode(value, n.Ref, place)
	}
	for _, sub := range n.Subs {
		if sub.Keyword == "anyOf" && sub.To.Accepts(value) {
			return m.encode(value, sub.To, place)
		}
	}
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(n.Fields))
		for name, inner := range value {
			out[name] = inner
		}
		for name, field := range n.Fields {
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
			for _, sub := range n.Subs {
				if sub.Keyword == "items" {
					out[i] = m.encode(inner, sub.To, *m.Places[place].Items)
				}
			}
		}
		return out
	}
	return value
}
