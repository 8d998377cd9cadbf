package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// values writes the rules of n into out.
func (l *lowerer) values(n *jsonschema.Node, out map[string]any) {
	l.types(n, out)
	l.constants(n, out)
	l.numbers(n, out)
	for _, keyword := range n.Keywords() {
		switch keyword {
		case "minLength", "maxLength", "pattern", "multipleOf", "maxItems", "uniqueItems", "minContains", "maxContains",
			"minProperties", "maxProperties", "dependentRequired", "contentEncoding",
			"patternProperties", "propertyNames", "contains", "not", "if", "then", "else", "dependentSchemas", "dependencies",
			"unevaluatedItems", "unevaluatedProperties":
			if l.d.takes(keyword) {
				out[keyword] = n.Object[keyword]
			} else {
				l.note(out, n, keyword)
			}
		case "minItems":
			l.minItems(n, out)
		case "format":
			l.format(n, out)
		}
	}
	l.fields(n, out)
	l.elements(n, out)
	l.compositions(n, out)
}

func (l *lowerer) types(n *jsonschema.Node, out map[string]any) {
	list := typeList(n.Object["type"])
	if len(list) == 0 {
		return
	}
	if !l.d.nullable {
		out["type"] = n.Object["type"]
		return
	}
	rest := slices.DeleteFunc(slices.Clone(list), func(t any) bool { return t == "null" })
	values, listed := listedValues(n)
	switch {
	case len(rest) == len(list):
	case listed && !slices.Contains(values, nil):
		l.find(n.At, "type", Rewritten, "null is not one of the listed values")
	default:
		out["nullable"] = true
		l.find(n.At, "type", Rewritten, "null is said with nullable")
	}
	switch len(rest) {
	case 0: // no type but null: nullable alone
	case 1:
		out["type"] = rest[0]
	default:
		branches := make([]any, len(rest))
		for i, t := range rest {
			branches[i] = map[string]any{"type": t}
		}
		out["anyOf"] = branches
		l.find(n.At, "type", Rewritten, "several types are said with anyOf")
	}
}

// listedValues returns the values that n lists with const or enum.
func listedValues(n *jsonschema.Node) (values []any, listed bool) {
	if value, ok := n.Object["const"]; ok && n.Draft != jsonschema.Draft04 {
		return []any{value}, true
	}
	values, listed = n.Object["enum"].([]any)
	return values, listed
}

func (l *lowerer) constants(n *jsonschema.Node, out map[string]any) {
	values, isEnum := n.Object["enum"].([]any)
	value, isConst := n.Object["const"]
	if isConst && n.Draft == jsonschema.Draft04 {
		isConst = false
	}
	switch {
	case isConst && l.d.takes("const"):
		out["const"] = value
		if isEnum {
			l.find(n.At, "enum", Dropped, "beside const")
		}
		return
	case isConst:
		values, isEnum = []any{value}, true
		l.find(n.At, "const", Rewritten, "said with enum")
	}
	if !isEnum {
		return
	}
	if l.d.nullable && slices.Contains(values, nil) {
		values = slices.DeleteFunc(slices.Clone(values), func(v any) bool { return v == nil })
		switch {
		case out["nullable"] == true: // types has set it
		case n.Object["type"] == nil:
			out["nullable"] = true
			l.find(n.At, keywordOf(n), Rewritten, "null is said with nullable")
		default:
			l.find(n.At, keywordOf(n), Rewritten, "null is not of the type")
		}
	}
	texts := !slices.ContainsFunc(values, func(v any) bool { _, text := v.(string); return !text })
	switch {
	case !l.d.takes("enum") || l.d.textEnum && !texts || len(values) == 0:
		l.note(out, n, keywordOf(n))
		if kind, one := n.Kinds().(string); one && out["type"] == nil && kind != "null" {
			out["type"] = kind
		}
	default:
		out["enum"] = values
		if l.d.nullable && out["type"] == nil {
			out["type"] = "string"
		}
	}
}

// keywordOf returns the keyword by which n lists its values.
func keywordOf(n *jsonschema.Node) string {
	if n.Object["enum"] == nil {
		return "const"
	}
	return "enum"
}

// numbers writes bounds of numbers. In draft-04 a flag makes a bound exclusive.
func (l *lowerer) numbers(n *jsonschema.Node, out map[string]any) {
	for _, pair := range [][2]string{{"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}} {
		bound, exclusive := n.Object[pair[0]], n.Object[pair[1]]
		if n.Draft == jsonschema.Draft04 {
			if exclusive == true {
				bound, exclusive = nil, bound
			} else {
				exclusive = nil
			}
		}
		if bound != nil {
			if l.d.takes(pair[0]) {
				out[pair[0]] = bound
			} else {
				l.note(out, n, pair[0])
			}
		}
		if exclusive == nil {
			continue
		}
		switch {
		case l.d.takes(pair[1]):
			out[pair[1]] = exclusive
		case l.d.takes(pair[0]) && bound == nil:
			out[pair[0]] = exclusive
			l.find(n.At, pair[1], Loosened, "the bound itself is allowed")
		default:
			l.note(out, n, pair[1])
		}
	}
}

func (l *lowerer) minItems(n *jsonschema.Node, out map[string]any) {
	count, _ := jsonschema.CountOf(n.Object["minItems"])
	switch {
	case !l.d.takes("minItems"):
		l.note(out, n, "minItems")
	case l.d.maxMin > 0 && count > l.d.maxMin:
		l.note(out, n, "minItems")
		out["minItems"] = json.Number(strconv.Itoa(l.d.maxMin)) // as decoding would return it
	default:
		out["minItems"] = n.Object["minItems"]
	}
}

func (l *lowerer) format(n *jsonschema.Node, out map[string]any) {
	name, _ := n.Text("format")
	switch {
	case slices.Contains(l.d.formats, name):
		out["format"] = name
	case jsonschema.IsFormat(name):
		l.note(out, n, "format")
	}
}

func (l *lowerer) fields(n *jsonschema.Node, out map[string]any) {
	if _, ok := n.Object["properties"]; ok {
		fields := newTable()
		for _, name := range n.Order {
			if field := n.Fields[name]; field.Object != nil || field.Boolean {
				fields.set(name, l.schema(field))
			}
		}
		out["properties"] = fields
	}
	if required := n.Object["required"]; required != nil {
		out["required"] = required
	}
	value, stated := n.Object["additionalProperties"]
	if !stated || value == true {
		return
	}
	if !l.d.takes("additionalProperties") {
		l.find(n.At, "additionalProperties", Dropped, "the format does not take it")
	}
	// Write it even if the format does not take it: combining schemas needs it, and tidy removes it
	// afterwards. An object with a schema for other fields, or with patternProperties, stays open,
	// which strict.go reports.
	if patterns, _ := n.Object["patternProperties"].(map[string]any); value == false && len(patterns) == 0 {
		out["additionalProperties"] = false
	}
}

// elements writes arrays. A tuple becomes a list of any of its elements.
func (l *lowerer) elements(n *jsonschema.Node, out map[string]any) {
	var tuple []any
	var rest *jsonschema.Node
	for _, s := range n.Subs {
		switch keyword, token := modernEdge(n, s); {
		case keyword == "prefixItems":
			tuple = append(tuple, l.schema(s.To))
		case keyword == "items" && token == "":
			rest = s.To
		}
	}
	switch {
	case tuple == nil && rest == nil:
	case tuple == nil && rest.Object == nil && !rest.Boolean:
		out["maxItems"] = json.Number("0")
		if !l.d.takes("maxItems") {
			delete(out, "maxItems")
			l.note(out, n, "items")
		}
	case tuple == nil:
		out["items"] = l.schema(rest)
	default:
		l.find(n.At, "prefixItems", Loosened, "tuples are not taken: any element may stand anywhere")
		if rest == nil || rest.Object == nil && rest.Boolean {
			out["items"] = map[string]any{}
			return
		}
		if rest.Object != nil {
			tuple = append(tuple, l.schema(rest))
		}
		out["items"] = map[string]any{"anyOf": tuple}
	}
}

func (l *lowerer) compositions(n *jsonschema.Node, out map[string]any) {
	for _, s := range n.Subs {
		if s.Keyword == "allOf" {
			l.conjoin(out, l.copied(l.schema(s.To)), s.To.At)
		}
	}
	if _, ok := n.Object["allOf"]; ok {
		l.find(n.At, "allOf", Rewritten, "written as one schema")
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		list := l.branches(n, keyword)
		if list == nil {
			continue
		}
		if _, taken := out["anyOf"]; taken {
			l.note(out, n, keyword)
			continue
		}
		if keyword == "oneOf" {
			l.find(n.At, keyword, Loosened, "written as anyOf: several may match")
		}
		all := len(list)
		if l.d.nullable {
			list = slices.DeleteFunc(list, isNull)
		}
		null := len(list) < all && acceptsNull(out)
		if len(list) == 0 { // null was the only alternative
			out["nullable"] = true
			l.note(out, n, keyword)
			continue
		}
		if l.d.alone && len(n.At) > 0 {
			list = l.spread(out, list, n.At.With(keyword))
		}
		if null {
			for i := range list {
				branch, _ := list[i].(map[string]any)
				branch = maps.Clone(branch)
				branch["nullable"] = true
				list[i] = branch
			}
		}
		out["anyOf"] = list
	}
}

// isNull reports whether a written alternative accepts only null.
func isNull(item any) bool {
	branch, _ := item.(map[string]any)
	return branch["nullable"] == true && branch["type"] == nil && branch["anyOf"] == nil && branch["enum"] == nil
}

// acceptsNull reports whether a schema written with nullable accepts null.
func acceptsNull(written map[string]any) bool {
	if written["nullable"] == true {
		return true
	}
	alternatives, chooses := written["anyOf"].([]any)
	return written["type"] == nil && written["enum"] == nil && (!chooses || slices.ContainsFunc(alternatives, func(item any) bool {
		branch, _ := item.(map[string]any)
		return acceptsNull(branch)
	}))
}
