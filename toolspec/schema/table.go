package schema

import (
	"bytes"
	"maps"
	"reflect"
	"slices"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// table is the value of a written properties: schemas by name, in the order of the document,
// because a model fills fields in this order. A table must not change once it is part of a schema.
type table struct {
	names []string // in order; names without a schema are skipped
	of    map[string]any
}

// newTable returns an empty table.
func newTable() *table { return &table{of: map[string]any{}} }

// tableFor returns a table with the names of n's fields. The caller sets their schemas in of.
func tableFor(n *jsonschema.Node) *table {
	return &table{names: n.Order, of: make(map[string]any, len(n.Order))}
}

// fieldsOf returns the fields of a written schema. The caller must not change them.
func fieldsOf(written map[string]any) *table {
	if fields, ok := written["properties"].(*table); ok {
		return fields
	}
	return new(table)
}

// clone returns a copy that may be changed.
func (t *table) clone() *table {
	changed := &table{names: slices.Clone(t.names), of: make(map[string]any, len(t.of))}
	maps.Copy(changed.of, t.of)
	return changed
}

// set sets the schema of a name. A new name goes to the end.
func (t *table) set(name string, written any) {
	if _, there := t.of[name]; !there {
		t.names = append(t.names, name)
	}
	t.of[name] = written
}

// listed returns the names with a schema, in order.
func (t *table) listed() []string {
	return slices.DeleteFunc(slices.Clone(t.names), func(name string) bool { return t.of[name] == nil })
}

// MarshalJSON writes the schemas in the order of the table.
func (t *table) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range t.listed() {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := strictjson.Encode(name)
		if err != nil {
			return nil, err
		}
		value, err := strictjson.Encode(t.of[name])
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// same reports whether two written values are equal, ignoring the order of fields.
func same(a, b any) bool {
	switch a := a.(type) {
	case *table:
		b, ok := b.(*table)
		return ok && same(a.of, b.of)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			if other, there := b[name]; !there || !same(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	default:
		return reflect.DeepEqual(a, b)
	}
}
