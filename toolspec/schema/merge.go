package schema

import (
	"maps"
	"slices"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// conjoin adds to out the rules of another written schema for the same value. If both have a
// keyword and the two cannot be combined, out keeps its own and the other is dropped, so the result
// allows more. With it go the keywords of other whose meaning depends on it.
func (l *lowerer) conjoin(out, other map[string]any, at strictjson.Path) {
	if l.d.nullable && !(acceptsNull(out) && acceptsNull(other)) {
		defer delete(out, "nullable")
	}
	other = removeIneffective(out, other)
	for _, keyword := range jsonschema.SortedNames(other) {
		theirs := other[keyword]
		ours, both := out[keyword]
		switch {
		case !both && misses(out, other, keyword):
			l.find(at, keyword, Dropped, "it depends on a keyword that is said twice in a composition")
		case !both:
			out[keyword] = theirs
		case jsonschema.RoleOf(keyword) == jsonschema.Annotates, keyword == traceWord, same(ours, theirs):
		case keyword == "properties":
			l.conjoinFields(out, other, at)
		case keyword == "required":
			out[keyword] = union(ours, theirs)
		case keyword == "type":
			l.conjoinTypes(out, ours, theirs, at)
		case keyword == "$defs":
			// both refer to the definitions of the whole document
		default:
			l.find(at, keyword, Dropped, "said twice in a composition")
		}
	}
}

// conjoinFields adds the fields of another written schema to the fields of out. If both have a field, and
// the two schemas of the field are objects without $ref, it combines them. A schema that is false stays, and
// a schema that is true yields to the other. Otherwise out keeps its own schema of the field, and l records a finding.
func (l *lowerer) conjoinFields(out, other map[string]any, at strictjson.Path) {
	ours, theirs := fieldsOf(out).clone(), fieldsOf(other)
	for _, name := range theirs.listed() {
		field, isObject := ours.of[name].(map[string]any)
		added, addsObject := theirs.of[name].(map[string]any)
		switch {
		case ours.of[name] == false, theirs.of[name] == false:
			ours.set(name, false)
		case !isObject:
			ours.set(name, theirs.of[name])
		case addsObject && field["$ref"] == nil && added["$ref"] == nil:
			field = maps.Clone(field)
			l.conjoin(field, added, at.With("properties").With(name))
			ours.set(name, field)
		default:
			l.find(at.With("properties"), name, Dropped, "described twice in a composition")
		}
	}
	out["properties"] = ours
}

func (l *lowerer) conjoinTypes(out map[string]any, ours, theirs any, at strictjson.Path) {
	both := []any{}
	for _, a := range typeList(ours) {
		for _, b := range typeList(theirs) {
			kind := a
			switch {
			case a == b, a == "integer" && b == "number":
			case a == "number" && b == "integer":
				kind = b
			default:
				continue
			}
			if !slices.Contains(both, kind) {
				both = append(both, kind)
			}
		}
	}
	switch len(both) {
	case 0:
		l.find(at, "type", Dropped, "no value has both types")
	case 1:
		out["type"] = both[0]
	default:
		out["type"] = both
	}
}

func typeList(value any) []any {
	if list, ok := value.([]any); ok {
		return list
	}
	if value == nil {
		return nil
	}
	return []any{value}
}

func union(a, b any) []any {
	list, _ := a.([]any)
	list = slices.Clone(list)
	other, _ := b.([]any)
	for _, name := range other {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// unite adds to out the fields of all alternatives, so that the model sees them. A field that
// several alternatives have may be as in any of them. A field is required if all alternatives
// require it.
func (l *lowerer) unite(out map[string]any, parts []map[string]any, at strictjson.Path, keyword string) {
	if len(parts) == 0 {
		return
	}
	l.find(at, keyword, Loosened, "alternatives are not taken here: their fields are listed together")
	variants := map[string][]any{}
	var names []string
	for _, part := range parts {
		fields := fieldsOf(part)
		for _, name := range fields.listed() {
			field := fields.of[name]
			if variants[name] == nil {
				names = append(names, name)
			}
			if !slices.ContainsFunc(variants[name], func(v any) bool { return same(v, field) }) {
				variants[name] = append(variants[name], field)
			}
		}
	}
	own := fieldsOf(out)
	fields := own.clone()
	for _, name := range names {
		if _, stated := own.of[name]; stated {
			continue // a field of the root applies to every alternative
		}
		switch {
		case len(variants[name]) == 1:
			fields.set(name, variants[name][0])
		case l.d.takes("anyOf"):
			fields.set(name, map[string]any{"anyOf": variants[name]})
		default:
			fields.set(name, map[string]any{})
		}
		for _, part := range parts {
			closed := part["additionalProperties"] == false && part["patternProperties"] == nil
			if _, has := fieldsOf(part).of[name]; !has && !closed {
				l.find(at.With(keyword), name, Tightened, "an alternative that does not list the field leaves it free")
				break
			}
		}
	}
	if len(fields.of) > 0 {
		out["properties"] = fields
	}
	common, _ := parts[0]["required"].([]any)
	common = slices.Clone(common)
	for _, part := range parts[1:] {
		list, _ := part["required"].([]any)
		common = slices.DeleteFunc(common, func(name any) bool { return !slices.Contains(list, name) })
	}
	if len(common) > 0 {
		out["required"] = union(out["required"], common)
	}
}
