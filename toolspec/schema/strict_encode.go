package schema

import (
	"encoding/json"
	"fmt"
)

// Encode writes arguments of the document in the strict form: the inverse of
// [Mapping.Restore], for what is told to a model about earlier calls. The
// arguments must be valid; where alternatives are open, the first that takes
// them counts.
func (f *StrictForm) Encode(args json.RawMessage) (json.RawMessage, error) {
	if problem := CheckJSON(args); problem != nil {
		return nil, fmt.Errorf("arguments: %w", problem)
	}
	value, err := decode(args)
	if err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	return encode(f.shapes.encode(value, f.root, 0))
}

func (s *shaper) encode(value any, n *node, place int) any {
	if n.ref != nil {
		return s.encode(value, n.ref, place)
	}
	for _, sub := range n.subs {
		if sub.keyword == "anyOf" && sub.to.accepts(value) {
			return s.encode(value, sub.to, place)
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
			f := s.places[place].Fields[name]
			switch {
			case !present:
				out[name] = nil
				continue
			case f.Mode == Wrapped:
				out[name] = map[string]any{wrappedName: s.encode(inner, field, f.Place)}
			default:
				out[name] = s.encode(inner, field, f.Place)
			}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, inner := range value {
			out[i] = inner
			for _, sub := range n.subs {
				if sub.keyword == "items" {
					out[i] = s.encode(inner, sub.to, *s.places[place].Items)
				}
			}
		}
		return out
	}
	return value
}
