package schema

import (
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Mapping converts arguments in the strict form to arguments of the original document. It is data:
// keep it with the definitions that were sent, and read a response with the mapping of its request.
type Mapping struct {
	// Places are the places to convert. The first one is the root.
	Places []Place `json:"places"`
}

// Place is one value of the arguments.
type Place struct {
	Fields map[string]PlaceField `json:"fields,omitempty"`
	Items  *int                  `json:"items,omitempty"` // index of the place of the elements
}

// PlaceField is one field of an object.
type PlaceField struct {
	Mode  Mode `json:"mode,omitempty"`
	Place int  `json:"place"`
}

// Mode is how the strict form encodes an absent optional field.
type Mode string

// The modes.
const (
	Plain   Mode = ""        // the field is required
	Null    Mode = "null"    // null means absent
	Wrapped Mode = "wrapped" // null means absent, {"value": x} means x, which may be null
)

// Restore reverses the strict form: it removes fields that mean absent, and unwraps values. It changes and checks nothing
// else, so validate the result. It returns an error if the arguments are not JSON, if the value of a Wrapped field is not
// {"value": x}, or if the mapping names a place that it does not have. The error names the field and contains no value.
func (m Mapping) Restore(args json.RawMessage) (json.RawMessage, error) {
	value, err := strictjson.Decode(args)
	if err != nil {
		return nil, fmt.Errorf("strict arguments: %w", err)
	}
	if len(m.Places) == 0 {
		return args, nil
	}
	if value, err = m.restore(value, 0, nil); err != nil {
		return nil, err
	}
	return strictjson.Encode(value)
}

func (m Mapping) restore(value any, place int, at strictjson.Path) (any, error) {
	if place < 0 || place >= len(m.Places) {
		return nil, fmt.Errorf("strict arguments: the mapping has no place %d", place)
	}
	p := m.Places[place]
	var err error
	switch value := value.(type) {
	case map[string]any:
		for name, field := range p.Fields {
			inner, present := value[name]
			switch {
			case !present:
				continue
			case inner == nil && field.Mode != Plain:
				delete(value, name)
				continue
			case field.Mode == Wrapped:
				box, _ := inner.(map[string]any)
				var ok bool
				if inner, ok = box[wrappedName]; !ok || len(box) != 1 {
					return nil, fmt.Errorf("strict arguments: %s is not wrapped", at.With(name).Field())
				}
			}
			if value[name], err = m.restore(inner, field.Place, at.With(name)); err != nil {
				return nil, err
			}
		}
	case []any:
		if p.Items == nil {
			return value, nil
		}
		for i := range value {
			if value[i], err = m.restore(value[i], *p.Items, at.With("*")); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}
