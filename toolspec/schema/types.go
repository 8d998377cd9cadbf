package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"
)

var (
	timeType    = reflect.TypeFor[time.Time]()
	numberType  = reflect.TypeFor[json.Number]()
	rawType     = reflect.TypeFor[json.RawMessage]()
	jsonOut     = reflect.TypeFor[json.Marshaler]()
	jsonIn      = reflect.TypeFor[json.Unmarshaler]()
	textOut     = reflect.TypeFor[encoding.TextMarshaler]()
	textIn      = reflect.TypeFor[encoding.TextUnmarshaler]()
	schemaHooks = []string{"JSONSchema", "JSONSchemaAlias", "JSONSchemaExtend", "JSONSchemaProperty", "GetFieldDocString", "EnumDescriptor"}
)

// leaf is a type that encoding/json does not write according to its kind.
type leaf int

const (
	composite  leaf = iota // according to its kind
	anything               // json.RawMessage, any
	moment                 // time.Time
	text                   // both text interfaces: a string
	number                 // json.Number
	base64Text             // a slice of bytes
)

func leafOf(t reflect.Type) leaf {
	switch {
	case t == timeType:
		return moment
	case t == rawType, t.Kind() == reflect.Interface && t.NumMethod() == 0:
		return anything
	case t == numberType:
		return number
	case t.Kind() == reflect.Pointer:
		return composite
	case t.Implements(textOut) && reflect.PointerTo(t).Implements(textIn):
		return text
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !marshals(t.Elem()):
		return base64Text
	}
	return composite
}

// marshals reports whether t has its own JSON encoding.
func marshals(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(jsonOut) || p.Implements(jsonIn) || p.Implements(textOut) || p.Implements(textIn)
}

// maxTypes bounds the places of a type tree, because a type is inlined wherever it is used.
const maxTypes = 5_000

// survey checks a type tree before the library gets it. For the types that survey refuses, the
// library panics, does not terminate or returns a wrong schema.
type survey struct {
	seen int
}

func (v *survey) check(t reflect.Type, at string, above []reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if v.seen++; v.seen > maxTypes {
		return fmt.Errorf("%s: more than %d places in one type", at, maxTypes)
	}
	for _, method := range schemaHooks {
		if _, ok := reflect.PointerTo(t).MethodByName(method); ok && t.PkgPath() != "" {
			return fmt.Errorf("%s: %v has a method %s, but the fields are the one source of the schema", at, t, method)
		}
	}
	if leafOf(t) != composite {
		if p := reflect.PointerTo(t); leafOf(t) == text && (p.Implements(jsonOut) || p.Implements(jsonIn)) {
			return fmt.Errorf("%s: %v marshals itself, its JSON form cannot be seen", at, t)
		}
		return nil
	}
	if marshals(t) {
		return fmt.Errorf("%s: %v marshals itself, its JSON form cannot be seen: use a plain field, or json.RawMessage", at, t)
	}
	if slices.Contains(above, t) {
		return fmt.Errorf("%s: recursive type %v, inlining would not end", at, t)
	}
	above = append(above[:len(above):len(above)], t)
	switch t.Kind() {
	case reflect.Struct:
		return v.checkStruct(t, at, above)
	case reflect.Slice, reflect.Array:
		return v.check(t.Elem(), at+"[]", above)
	case reflect.Map:
		if key := t.Key(); key.Kind() != reflect.String || marshals(key) {
			return fmt.Errorf("%s: map keys must be plain strings, not %v", at, key)
		}
		return v.check(t.Elem(), at+"{}", above)
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer, reflect.Uintptr:
		return fmt.Errorf("%s: %v has no JSON form", at, t)
	}
	return nil
}

func (v *survey) checkStruct(t reflect.Type, at string, above []reflect.Type) error {
	for _, f := range jsonFields(t) {
		below := at + "." + f.name
		if err := v.check(f.typ, below, above); err != nil {
			return err
		}
		if err := checkTags(f); err != nil {
			return fmt.Errorf("%s: %w", below, err)
		}
	}
	return nil
}
