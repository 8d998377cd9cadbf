package schematest

import "encoding/json"

// Strict encodes the value in the strict form of a mapping, given as JSON: the inverse of
// schema.Mapping.Restore.
func (p Pair) Strict(mapping json.RawMessage) json.RawMessage {
	var m form
	if err := json.Unmarshal(mapping, &m); err != nil {
		panic(err) // package schema wrote the mapping
	}
	return encode(m.write(p.tree, 0))
}

// object is the value of an object.
type object struct {
	listed map[string]made // the fields of its schema
	held   map[string]any
}

// MarshalJSON writes the fields of the object.
func (o object) MarshalJSON() ([]byte, error) { return json.Marshal(o.held) }

// form is the mapping of each place of a value.
type form struct {
	Places []struct {
		Fields map[string]struct {
			Mode  string
			Place int
		}
		Items int
	}
}

func (m form) write(value any, place int) any {
	switch value := value.(type) {
	case object:
		out := map[string]any{}
		for name := range value.listed {
			f := m.Places[place].Fields[name]
			out[name] = nil // absent
			if inner, present := value.held[name]; present {
				out[name] = m.write(inner, f.Place)
				if f.Mode == "wrapped" {
					out[name] = map[string]any{"value": out[name]}
				}
			}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, inner := range value {
			out[i] = m.write(inner, m.Places[place].Items)
		}
		return out
	}
	return value
}
