package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// checkTags refuses items of a jsonschema tag that the library would ignore silently, because the
// author expects them to be enforced.
func checkTags(f field) error {
	if f.tag.Get("jsonschema_extras") != "" {
		return fmt.Errorf("jsonschema_extras is not supported")
	}
	for _, item := range tagItems(f.tag.Get("jsonschema")) {
		key, value, pair := strings.Cut(item, "=")
		switch {
		case item == "" || key == "title" || key == "description":
		case item == "required":
			if f.hasDefault() {
				return fmt.Errorf("a field with a default is not required")
			}
		case !pair:
			return fmt.Errorf("jsonschema tag item %q has no effect: before a comma inside of a value write two backslashes, as in `pattern=^a{1\\\\,8}$`, and write a description with commas into jsonschema_description", item)
		default:
			if err := checkTag(f, key, value); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	stringTags = []string{"minLength", "maxLength", "pattern", "format", "default", "example", "enum", "readOnly", "writeOnly"}
	numberTags = []string{"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "default", "example", "enum"}
	arrayTags  = []string{"minItems", "maxItems", "uniqueItems"}
)

func checkTag(f field, key, value string) error {
	t := f.typ
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	known, array := tagsOf(t, f.quoted), false
	if leafOf(t) == composite && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		array = true
		elements := slices.DeleteFunc(slices.Clone(tagsOf(t.Elem(), false)), func(k string) bool { return k == "default" })
		if t.Elem().Kind() == reflect.String {
			elements = append(elements, "default")
		}
		known = append(slices.Clone(arrayTags), elements...)
	}
	if !slices.Contains(known, key) {
		return fmt.Errorf("jsonschema tag %q has no effect on %v", key, f.typ)
	}
	var err error
	switch {
	case array && strings.Contains(value, "="):
		err = fmt.Errorf("no = in it on lists")
	case key == "uniqueItems": // the library takes any value as true
		if value != "true" {
			err = fmt.Errorf("not true")
		}
	case key == "readOnly" || key == "writeOnly", t.Kind() == reflect.Bool && !f.quoted:
		if value != "true" && value != "false" {
			err = fmt.Errorf("not true or false")
		}
	case strings.HasPrefix(key, "min") && key != "minimum", strings.HasPrefix(key, "max") && key != "maximum":
		_, err = strconv.ParseUint(value, 10, 32)
	case !slices.Contains(stringTags, key) || numeric(t, f.quoted):
		_, err = strconv.ParseFloat(value, 64)
	}
	if err != nil {
		return fmt.Errorf("jsonschema tag %s=%q: %w", key, value, err)
	}
	return nil
}

func numeric(t reflect.Type, quoted bool) bool {
	return leafOf(t) == number || leafOf(t) == composite && quotable(t) && t.Kind() != reflect.Bool && t.Kind() != reflect.String && !quoted
}

func tagsOf(t reflect.Type, quoted bool) []string {
	switch {
	case numeric(t, quoted):
		return numberTags
	case t.Kind() == reflect.Bool && !quoted:
		return []string{"default"}
	case leafOf(t) == text, leafOf(t) == moment, leafOf(t) == base64Text, t.Kind() == reflect.String, quotable(t):
		return stringTags
	}
	return nil
}

// tagItems splits at commas that are not escaped by a backslash, as the library does.
func tagItems(tag string) []string {
	var items []string
	for part := range strings.SplitSeq(tag, ",") {
		if last := len(items) - 1; last >= 0 && strings.HasSuffix(items[last], `\`) {
			items[last] = strings.TrimSuffix(items[last], `\`) + "," + part
			continue
		}
		items = append(items, part)
	}
	return items
}
