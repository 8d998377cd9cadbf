package docsgen

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// fieldTables lists the fields of every document, nested ones by their paths.
func fieldTables(src *source) (map[string]string, error) {
	blocks := map[string]string{}
	all := slices.Concat(documents, []document{{name: "answer", typ: reflect.TypeFor[toolspec.Answer]()}})
	for _, doc := range all {
		rows, err := fieldRows(src, "", doc.typ)
		if err != nil {
			return nil, err
		}
		blocks[doc.name+" fields"] = table([]string{"field", "type", "required", "meaning"}, rows)
	}
	return blocks, nil
}

func fieldRows(src *source, prefix string, t reflect.Type) (rows [][]string, err error) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		required := "yes"
		if strings.Contains(options, "omit") {
			required = ""
		}
		meaning, err := src.meaning(t, f.Name)
		if err != nil {
			return nil, err
		}
		kind, below, suffix := kindOf(src, f.Type)
		rows = append(rows, []string{code(prefix + name), kind, required, strings.ReplaceAll(meaning, "|", `\|`)})
		if below != nil {
			inner, err := fieldRows(src, prefix+name+suffix+".", below)
			if err != nil {
				return nil, err
			}
			rows = append(rows, inner...)
		}
	}
	return rows, nil
}

// kindOf names a type for readers, and returns the struct below it, if any.
func kindOf(src *source, t reflect.Type) (kind string, below reflect.Type, suffix string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return "any JSON", nil, ""
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return "array of objects", t.Elem(), "[]"
	case t.Kind() == reflect.Slice:
		return "array of strings", nil, ""
	case t.Kind() == reflect.Struct:
		return "object", t, ""
	case t == reflect.TypeFor[toolspec.Code]():
		return "a [code](errors.md)", nil, ""
	case t.Kind() == reflect.Bool:
		return "boolean", nil, ""
	case t.Kind() != reflect.String:
		return "integer", nil, ""
	}
	values := src.values(t.Name())
	if len(values) == 0 {
		return "string", nil, ""
	}
	var shown []string
	for _, v := range values {
		if v != "" { // the field is then absent, as its meaning says
			shown = append(shown, code(v))
		}
	}
	return strings.Join(shown, ", "), nil, ""
}
