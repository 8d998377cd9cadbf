package schema

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// field is one JSON member of a struct, as encoding/json defines it.
type field struct {
	name   string
	typ    reflect.Type
	tag    reflect.StructTag
	index  []int // place, for the order
	tagged bool  // the name comes from a tag
	omits  bool  // omitempty or omitzero
	absent bool  // reached through an embedded pointer, which may be nil
	quoted bool  // the string option
}

func (f field) optional() bool {
	return f.omits || f.absent || f.typ.Kind() == reflect.Pointer || f.hasDefault()
}

func (f field) hasDefault() bool {
	return slices.ContainsFunc(tagItems(f.tag.Get("jsonschema")), func(item string) bool {
		return strings.HasPrefix(item, "default=")
	})
}

// jsonFields returns the members of struct t as encoding/json does: embedded structs are flattened;
// of equal names the least nested counts, then the tagged one; if several are left, none counts.
func jsonFields(t reflect.Type) []field {
	byName := map[string][]field{}
	collect(t, nil, false, nil, byName)
	var fields []field
	for _, same := range byName {
		if f, ok := dominant(same); ok {
			fields = append(fields, f)
		}
	}
	slices.SortFunc(fields, func(a, b field) int { return slices.Compare(a.index, b.index) })
	return fields
}

func dominant(same []field) (field, bool) {
	better := func(a, b field) int {
		return cmp.Or(cmp.Compare(len(a.index), len(b.index)), cmp.Compare(rank(b.tagged), rank(a.tagged)))
	}
	slices.SortStableFunc(same, better)
	if len(same) > 1 && better(same[0], same[1]) == 0 {
		return field{}, false
	}
	return same[0], true
}

func rank(tagged bool) int {
	if tagged {
		return 1
	}
	return 0
}

func collect(t reflect.Type, index []int, absent bool, above []reflect.Type, byName map[string][]field) {
	if slices.Contains(above, t) {
		return // its fields were visited at a smaller depth
	}
	above = append(above[:len(above):len(above)], t)
	for i := range t.NumField() {
		sf := t.Field(i)
		tag := sf.Tag.Get("json")
		bare, pointer := sf.Type, false
		if bare.Kind() == reflect.Pointer && bare.Name() == "" {
			bare, pointer = bare.Elem(), true
		}
		embedded := sf.Anonymous && bare.Kind() == reflect.Struct
		if tag == "-" || !sf.IsExported() && !embedded {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if !validName(name) {
			name = ""
		}
		at := slices.Concat(index, []int{i})
		if embedded && name == "" {
			collect(bare, at, absent || pointer, above, byName)
			continue
		}
		f := field{name: cmp.Or(name, sf.Name), typ: sf.Type, tag: sf.Tag, index: at, tagged: name != "", absent: absent}
		for option := range strings.SplitSeq(options, ",") {
			f.omits = f.omits || option == "omitempty" || option == "omitzero"
			f.quoted = f.quoted || option == "string" && quotable(bare)
		}
		byName[f.name] = append(byName[f.name], f)
	}
}

func quotable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return false
}

// validName applies the rule of encoding/json for names in tags.
func validName(name string) bool {
	for _, r := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return name != ""
}
