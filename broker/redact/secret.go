package redact

import "reflect"

// Secret is implemented by types whose values must not be printed.
type Secret interface {
	// Redacted does nothing; it marks the type.
	Redacted()
}

// depth is how deep in a type a secret is looked for.
const depth = 8

var secretType = reflect.TypeFor[Secret]()

// holds says that a value is a secret, or that one is somewhere in it: fmt and
// encoding/json would reach it even if it is not exported.
func holds(v any) bool { return v != nil && holdsValue(reflect.ValueOf(v), depth) }

func holdsValue(v reflect.Value, left int) bool {
	if !v.IsValid() || left == 0 {
		return false
	}
	t := v.Type()
	if t.Implements(secretType) || t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(secretType) {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil() && holdsValue(v.Elem(), left-1)
	case reflect.Struct:
		for i := range v.NumField() {
			if holdsValue(v.Field(i), left-1) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		if plain(t.Elem().Kind()) {
			return false
		}
		for i := range v.Len() {
			if holdsValue(v.Index(i), left-1) {
				return true
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			if holdsValue(entries.Key(), left-1) || holdsValue(entries.Value(), left-1) {
				return true
			}
		}
	default: // holds nothing
	}
	return false
}

// plain kinds hold no secret by type, and are not worth a look at each.
func plain(k reflect.Kind) bool { return k <= reflect.Complex128 || k == reflect.String }
