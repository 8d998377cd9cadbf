package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	invopop "github.com/invopop/jsonschema"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// Derive returns the JSON Schema of what encoding/json reads and writes for t,
// a struct or a pointer to one. The document is draft-07 without references,
// every struct closed, fields in the order of encoding/json, and the same bytes
// in every build.
//
// A field is required unless it is a pointer, has omitempty or omitzero, or a
// default. null is accepted exactly where encoding/json may write it: for
// pointers, slices and maps without omitempty, and inside slices and maps; a
// slice that states minItems of 1 or more never holds null. Unsigned and sized
// integers carry their range. Descriptions and constraints come from the tags
// jsonschema and jsonschema_description; a constraint that would have no effect
// is an error.
//
// It refuses, naming the path from the root type: a root that is not a struct,
// recursive types, map keys other than strings, interfaces with methods, and
// types whose JSON form reflection cannot see.
func Derive(t reflect.Type) (json.RawMessage, error) {
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct || leafOf(t) != composite {
		return nil, fmt.Errorf("derive schema of %v: the root must be a struct, so that the schema is an object", t)
	}
	return derive(t, func(d *deriver) *invopop.Schema { return d.object(t) })
}

// DeriveOutput is Derive for the value of a tool, whose type may be any that a field of a struct may
// have: a struct, a string, a number, a slice, a map, json.RawMessage.
func DeriveOutput(t reflect.Type) (json.RawMessage, error) {
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() == reflect.Pointer {
		return nil, fmt.Errorf("derive schema of %v: there is no type, or a pointer to a pointer", t)
	}
	if t.Kind() == reflect.Struct && leafOf(t) == composite {
		return Derive(t)
	}
	return derive(t, func(d *deriver) *invopop.Schema {
		const field = "value"
		holder := d.object(reflect.StructOf([]reflect.StructField{{Name: "Value", Type: t, Tag: `json:"` + field + `"`}}))
		property, _ := holder.Properties.Get(field)
		if leafOf(t) == anything { // the schema true, which has no place for a version
			property = &invopop.Schema{}
		}
		return property
	})
}

// derive returns the document of a type. The function root returns its root schema.
func derive(t reflect.Type, root func(*deriver) *invopop.Schema) (json.RawMessage, error) {
	if err := new(survey).check(t, t.String(), nil); err != nil {
		return nil, fmt.Errorf("derive schema of %v: %w", t, err)
	}
	d := &deriver{own: map[reflect.Type]bool{}}
	d.reflector = invopop.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true, Mapper: d.mapType, KeyNamer: func(marked string) string { return marked[1:] }}
	schema := root(d)
	schema.Version = jsonschema.Draft07.URI()
	doc, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("derive schema of %v: %w", t, err)
	}
	parsed, err := jsonschema.ParseValue(doc)
	if err != nil {
		return nil, fmt.Errorf("derive schema of %v: %w", t, err)
	}
	if err := checkDefaults(parsed); err != nil {
		return nil, fmt.Errorf("derive schema of %v: %w", t, err)
	}
	return doc, nil
}

// deriver gives the library invopop/jsonschema one level of a type at a time, as a struct without
// embedded structs, because the library flattens embedded structs by other rules than
// encoding/json.
type deriver struct {
	reflector invopop.Reflector
	own       map[reflect.Type]bool // level structs made by object
}

func (d *deriver) object(t reflect.Type) *invopop.Schema {
	fields := jsonFields(t)
	level := make([]reflect.StructField, 0, len(fields))
	for i, f := range fields {
		options := "." + f.name // the library would skip a field named "-"
		if f.optional() {
			options += ",omitempty"
		}
		if f.quoted {
			options += ",string"
		}
		level = append(level, reflect.StructField{
			Name: "F" + strconv.Itoa(i),
			Type: f.typ,
			Tag:  reflect.StructTag(fmt.Sprintf("json:%q %s", options, docTags(f.tag))),
		})
	}
	made := reflect.StructOf(level)
	d.own[made] = true
	s := d.reflector.ReflectFromType(made)
	s.Version = ""
	for _, f := range fields {
		if property, ok := s.Properties.Get(f.name); ok {
			refine(property, f.typ, f.omits)
		}
	}
	return s
}

func docTags(tag reflect.StructTag) string {
	return fmt.Sprintf("jsonschema:%q jsonschema_description:%q", tag.Get("jsonschema"), tag.Get("jsonschema_description"))
}

// mapType returns the schema of a type for which the library would return a wrong schema, and nil for any
// other type.
func (d *deriver) mapType(t reflect.Type) *invopop.Schema {
	switch leafOf(t) {
	case text:
		return &invopop.Schema{Type: "string"}
	case number:
		return &invopop.Schema{Type: "number"}
	case base64Text:
		return &invopop.Schema{Type: "string", ContentEncoding: "base64"}
	default: // the library returns the right schemas of the other types
	}
	if t.Kind() == reflect.Struct && t != timeType && !d.own[t] {
		return d.object(t)
	}
	return nil
}

// refine adds what the library does not say: null, integer ranges, open maps.
// omits says that encoding/json leaves the field out where it would write null.
func refine(s *invopop.Schema, t reflect.Type, omits bool) {
	null := !omits
	switch t.Kind() {
	case reflect.Pointer:
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	case reflect.Slice, reflect.Map:
	default:
		null = false
	}
	if leafOf(t) == composite {
		switch t.Kind() {
		case reflect.Slice, reflect.Array:
			refine(s.Items, t.Elem(), false)
		case reflect.Map:
			if s.AdditionalProperties == nil {
				s.AdditionalProperties = invopop.TrueSchema
			} else {
				refine(s.AdditionalProperties, t.Elem(), false)
			}
		}
	}
	if s.Type == "integer" {
		setRange(s, t)
	}
	if null && s.Type != "" && (s.MinItems == nil || *s.MinItems == 0) && (s.MinLength == nil || *s.MinLength == 0 || t.Kind() != reflect.Slice) {
		s.Extras = map[string]any{"type": []string{s.Type, "null"}}
		s.Type = ""
		if s.Enum != nil {
			s.Enum = append(s.Enum, nil)
		}
	}
}

// setRange sets the smallest and the largest value of an integer type as minimum and maximum. It keeps a bound that the
// schema has already. A bound of 64 bits other than 0 is left out, because numbers in JSON are exact only up to smaller
// values.
func setRange(s *invopop.Schema, t reflect.Type) {
	low, high := "", ""
	switch t.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32:
		low = strconv.FormatInt(-1<<(t.Bits()-1), 10)
		high = strconv.FormatInt(1<<(t.Bits()-1)-1, 10)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		low, high = "0", strconv.FormatUint(1<<t.Bits()-1, 10)
	case reflect.Uint, reflect.Uint64:
		low = "0"
	}
	if s.Minimum == "" && s.ExclusiveMinimum == "" {
		s.Minimum = json.Number(low)
	}
	if s.Maximum == "" && s.ExclusiveMaximum == "" {
		s.Maximum = json.Number(high)
	}
}

// checkDefaults refuses a default that its own schema does not accept.
func checkDefaults(root *jsonschema.Node) error {
	return root.Walk(func(n *jsonschema.Node) error {
		value, ok := n.Object["default"]
		if ok && !n.Accepts(value) {
			return jsonschema.Refuse(n.At.With("default"), "the default is not a value of the field")
		}
		return nil
	})
}
