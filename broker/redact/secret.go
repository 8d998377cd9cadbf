package redact

import "reflect"

// Secret is implemented by types whose values must not be printed.
type Secret interface {
	// Redacted does nothing; it marks the type.
	Redacted()
}

// depth is how deep holds looks into a value.
const depth = 8

var secretType = reflect.TypeFor[Secret]()

// holds reports whether a value is a Secret or contains one, also in a field that is not exported:
// fmt prints such fields too.
func holds(v any) bool { return v != nil && holdsValue(reflect.ValueOf(v), depth) }

func holdsValue(v reflect.Value, left int) bool {
	if !v.IsValid() || left == 0 {
		return false
	}
	t := v.Type()
	if isSecret(t) {
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
			return v.Len() > 0 && isSecret(t.Elem())
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

// isSecret reports whether values of a type, or pointers to them, are secrets.
func isSecret(t reflect.Type) bool {
	return t.Implements(secretType) || t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(secretType)
}

// plain reports whether a kind is a basic one. The elements of a slice of such a kind are not
// searched.
func plain(k reflect.Kind) bool { return k <= reflect.Complex128 || k == reflect.String }
