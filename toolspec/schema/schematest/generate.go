package schematest

import (
	"encoding/json"
	"fmt"

	"pgregory.net/rapid"
)

// Pair is a document and a value that it accepts.
type Pair struct {
	Schema json.RawMessage
	Value  json.RawMessage
	tree   any // the value before it was encoded; each object in it also has the fields of its schema
}

// Option extends what Pairs generates.
type Option int

// Maps adds objects whose names of fields are free. Strict forms cannot express such objects.
const Maps Option = 1

// Pairs generates documents of 2020-12 with closed objects, optional and nullable fields, lists,
// alternatives and references.
func Pairs(options ...Option) *rapid.Generator[Pair] {
	return rapid.Custom(func(t *rapid.T) Pair {
		g := &generator{t: t}
		for _, o := range options {
			g.maps = g.maps || o == Maps
		}
		for i := range rapid.IntRange(0, 2).Draw(t, "defs") {
			g.defs = append(g.defs, g.schema(2))
			g.names = append(g.names, fmt.Sprintf("d%d", i))
		}
		root := g.object(3)
		if len(g.defs) > 0 {
			defs := map[string]any{}
			for i, d := range g.defs {
				defs[g.names[i]] = d.schema
			}
			root.schema["$defs"] = defs
		}
		tree := root.value()
		return Pair{Schema: encode(root.schema), Value: encode(tree), tree: tree}
	})
}

func encode(value any) json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // all generated values can be encoded
	}
	return raw
}

type generator struct {
	t     *rapid.T
	defs  []made
	names []string
	maps  bool
}

// made is a schema with a generator of its values.
type made struct {
	schema map[string]any
	value  func() any
}

func (g *generator) pick(label string, n int) int { return rapid.IntRange(0, n-1).Draw(g.t, label) }

func (g *generator) schema(depth int) made {
	kinds := 6
	if depth > 0 {
		kinds = 12
	}
	switch g.pick("kind", kinds) {
	case 0:
		return made{map[string]any{"type": "string", "maxLength": 8}, g.text}
	case 1:
		return made{map[string]any{"type": "integer", "minimum": -5, "maximum": 5}, func() any { return rapid.IntRange(-5, 5).Draw(g.t, "int") }}
	case 2:
		return made{map[string]any{"type": "boolean"}, func() any { return rapid.Bool().Draw(g.t, "bool") }}
	case 3:
		words := []any{"a", "b", 3}
		return made{map[string]any{"enum": words}, func() any { return words[g.pick("word", 3)] }}
	case 4:
		return made{map[string]any{"type": []any{"string", "null"}, "maxLength": 8}, func() any {
			if g.pick("null", 2) == 0 {
				return nil
			}
			return g.text()
		}}
	case 5:
		return made{map[string]any{"type": "number", "exclusiveMinimum": 0}, func() any { return float64(1+g.pick("n", 40)) / 4 }}
	case 6, 7:
		return g.object(depth - 1)
	case 8:
		return g.list(depth - 1)
	case 9:
		return g.either(depth - 1)
	case 10:
		if len(g.defs) > 0 {
			i := g.pick("def", len(g.defs))
			return made{map[string]any{"$ref": "#/$defs/" + g.names[i]}, g.defs[i].value}
		}
		return g.list(depth - 1)
	default:
		if !g.maps {
			return g.object(depth - 1)
		}
		inner := g.schema(depth - 1)
		return made{map[string]any{"type": "object", "additionalProperties": inner.schema}, func() any {
			value := map[string]any{}
			for i := range g.pick("members", 3) {
				value[fmt.Sprintf("m%d", i)] = inner.value()
			}
			return value
		}}
	}
}

func (g *generator) text() any {
	return rapid.StringMatching(`[a-zé"\\/]{0,8}`).Draw(g.t, "text")
}

func (g *generator) object(depth int) made {
	fields := map[string]made{}
	schemas := map[string]any{}
	required := []any{}
	must := map[string]bool{}
	for _, name := range []string{"a", "b", "c", "value"}[:rapid.IntRange(0, 4).Draw(g.t, "fields")] {
		fields[name] = g.schema(depth)
		schemas[name] = fields[name].schema
		if rapid.Bool().Draw(g.t, "required") {
			required, must[name] = append(required, name), true
		}
	}
	schema := map[string]any{"type": "object", "properties": schemas, "required": required, "additionalProperties": false}
	return made{schema, func() any {
		value := object{listed: fields, held: map[string]any{}}
		for _, name := range []string{"a", "b", "c", "value"} {
			if f, ok := fields[name]; ok && (must[name] || rapid.Bool().Draw(g.t, "present")) {
				value.held[name] = f.value()
			}
		}
		return value
	}}
}

func (g *generator) list(depth int) made {
	inner := g.schema(depth)
	return made{map[string]any{"type": "array", "items": inner.schema}, func() any {
		value := []any{}
		for range g.pick("elements", 4) {
			value = append(value, inner.value())
		}
		return value
	}}
}

func (g *generator) either(depth int) made {
	branches := []made{g.schema(depth), g.schema(depth)}
	return made{map[string]any{"anyOf": []any{branches[0].schema, branches[1].schema}}, func() any {
		return branches[g.pick("branch", 2)].value()
	}}
}
