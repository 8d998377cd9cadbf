package hydrate

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/schema"
)

// reader looks up in a schema document what stands for a place of an instance. It
// explains and mends; it never validates, and where the document does not say so
// plainly, it knows nothing.
type reader struct{ root any }

// maxRefs bounds how many references follow one another.
const maxRefs = 16

func readerOf(doc json.RawMessage) reader {
	return reader{decoded(doc)}
}

// decoded reads JSON with numbers as they are written; nil where it is none.
func decoded(raw []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}

// node is the schema behind its local references.
func (r reader) node(v any) map[string]any {
	for range maxRefs {
		n, _ := v.(map[string]any)
		ref, ok := n["$ref"].(string)
		if !ok {
			return n
		}
		path, local := strings.CutPrefix(ref, "#")
		if !local {
			return nil
		}
		v = r.root
		for _, token := range tokens(path) {
			m, _ := v.(map[string]any)
			v = m[token]
		}
	}
	return nil
}

// member is the schema of a member of an object.
func (r reader) member(n map[string]any, name string) map[string]any {
	properties, _ := n["properties"].(map[string]any)
	if p, ok := properties[name]; ok {
		return r.node(p)
	}
	if n["patternProperties"] != nil {
		return nil
	}
	return r.node(n["additionalProperties"])
}

// element is the schema of an element of an array.
func (r reader) element(n map[string]any, i int) map[string]any {
	tuple, isTuple := n["prefixItems"].([]any)
	if !isTuple {
		tuple, isTuple = n["items"].([]any)
	}
	if isTuple {
		if i >= 0 && i < len(tuple) {
			return r.node(tuple[i])
		}
		return nil
	}
	return r.node(n["items"])
}

// typesOf lists the types that a schema names; none where it names none.
func typesOf(n map[string]any) (names []string) {
	switch t := n["type"].(type) {
	case string:
		return []string{t}
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// explained adds to problems what was expected and what came in its place.
func explained(problems []toolspec.Problem, args, doc json.RawMessage) []toolspec.Problem {
	r, value := readerOf(doc), decoded(args)
	for i, p := range problems {
		v, n, present := value, r.node(r.root), true
		for _, token := range tokens(p.Path) {
			switch parent := v.(type) {
			case map[string]any:
				v, present = parent[token]
				n = r.member(n, token)
			case []any:
				at, err := strconv.Atoi(token)
				if present = err == nil && at >= 0 && at < len(parent); present {
					v = parent[at]
				}
				n = r.element(n, at)
			default:
				present = false
			}
			if !present {
				v = nil
			}
		}
		if present {
			problems[i].Got = typeOf(v)
		}
		if p.Kind == string(schema.KindTypeMismatch) || p.Kind == string(schema.KindMissingRequired) {
			problems[i].Expected = strings.Join(typesOf(n), " or ")
		}
	}
	return problems
}

// tokens splits a JSON pointer.
func tokens(pointer string) []string {
	if pointer == "" || pointer[0] != '/' {
		return nil
	}
	parts := strings.Split(pointer[1:], "/")
	for i, part := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	return parts
}

// wants reports whether a schema names types, and the type of v is none of them
// but another is.
func wants(n map[string]any, v any, other ...string) bool {
	names := typesOf(n)
	is := typeOf(v)
	if slices.Contains(names, is) || is == "number" && slices.Contains(names, "integer") {
		return false
	}
	return slices.ContainsFunc(other, func(t string) bool { return slices.Contains(names, t) })
}
