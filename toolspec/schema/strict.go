package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// wrappedName is the only field of a wrapped value.
const wrappedName = "value"

// strictForm writes a document in the form that strict providers need: every object is closed,
// every field is required, and optional fields are nullable.
//
// An optional field is required and may be null, which means absent. If null is also a value of the
// field, the field is wrapped as {"value": x}. Alternatives that describe the same field use the
// same encoding, so that a mapping needs no evaluation.
//
// The findings report what the form cannot express. A Tightened finding means that some valid calls
// cannot be made: open objects and maps are closed, and a value of any type can only be a scalar.
func strictForm(doc json.RawMessage, d dialect) (*Sent, error) {
	plain, findings, err := lowerTraced(doc, d)
	if err != nil {
		return nil, err
	}
	s := &shaper{d: d, byKey: map[string]int{}, names: map[string]string{}, ids: map[*jsonschema.Node]int{}}
	s.defs = map[string]any{}
	_ = plain.Walk(func(n *jsonschema.Node) error {
		s.ids[n] = len(s.ids)
		return nil
	})
	top := s.place([]*jsonschema.Node{plain})
	out := s.write(plain, top)
	if s.full || s.written.full() {
		return nil, jsonschema.Refuse(nil, "too large for a strict form")
	}
	if len(s.defs) > 0 {
		out["$defs"] = s.defs
	}
	document, err := strictjson.Encode(out)
	if err != nil {
		return nil, err
	}
	return &Sent{Document: document, Mapping: &Mapping{Places: s.places}, Findings: sortFindings(append(findings, s.findings...))}, nil
}

// lowerTraced writes a document in the keywords of the target and parses it, before it is made
// strict.
func lowerTraced(doc json.RawMessage, d dialect) (*jsonschema.Node, []Finding, error) {
	root, err := jsonschema.Parse(doc)
	if err != nil {
		return nil, nil, err
	}
	l := newLowerer(root, d)
	l.trace = true
	lowered, err := l.document(root)
	if err != nil {
		return nil, nil, err
	}
	plain, err := jsonschema.Parse(lowered)
	return plain, l.findings, err
}

// shaper knows the places of a document and the schemas that can describe the value at each. All
// alternatives of a place use the same encoding.
type shaper struct {
	d        dialect
	ids      map[*jsonschema.Node]int
	byKey    map[string]int // place by the schemas of the place, and by the schemas that lead to them
	places   []Place
	nullable []bool // by place: a value there can be null
	defs     map[string]any
	names    map[string]string // definition by schema and place
	findings []Finding
	written  bound
	full     bool // too many places
}

// terminals returns the schemas at the ends of references and alternatives, each once.
func terminals(nodes []*jsonschema.Node) []*jsonschema.Node {
	var ends []*jsonschema.Node
	seen := map[*jsonschema.Node]bool{}
	var visit func(n *jsonschema.Node)
	visit = func(n *jsonschema.Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		alternatives := false
		for next := range n.Applied {
			alternatives = true
			visit(next)
		}
		if !alternatives {
			ends = append(ends, n)
		}
	}
	for _, n := range nodes {
		visit(n)
	}
	return ends
}

// key sorts a list of schemas and returns its key.
func (s *shaper) key(nodes []*jsonschema.Node) string {
	slices.SortFunc(nodes, func(a, b *jsonschema.Node) int { return s.ids[a] - s.ids[b] })
	var key strings.Builder
	for _, n := range nodes {
		key.WriteString(strconv.Itoa(s.ids[n]))
		key.WriteByte(' ')
	}
	return key.String()
}

// place returns the index of the Place of the value that all of the schemas describe. It adds the Place
// to s.places if no list of schemas before led to it.
func (s *shaper) place(nodes []*jsonschema.Node) int {
	// Follow the references first: fields whose references have the same target share a place, and
	// place need not visit the alternatives of the target again.
	heads := slices.Clone(nodes)
	for i := range heads {
		for heads[i].Ref != nil {
			heads[i] = heads[i].Ref
		}
	}
	head := s.key(heads)
	if i, ok := s.byKey[head]; ok {
		return i
	}
	ends := terminals(heads)
	key := s.key(ends)
	if i, ok := s.byKey[key]; ok {
		s.byKey[head] = i
		return i
	}
	i := len(s.places)
	s.byKey[head], s.byKey[key] = i, i
	s.places = append(s.places, Place{})
	s.nullable = append(s.nullable, slices.ContainsFunc(ends, func(n *jsonschema.Node) bool { return n.AcceptsJSON(json.RawMessage("null")) }))
	if len(s.places) > maxPlaces {
		s.full = true
		return i
	}
	fields := map[string][]*jsonschema.Node{}
	optional := map[string]bool{}
	var elements []*jsonschema.Node
	for _, n := range ends {
		required := n.Names("required")
		for name, field := range n.Fields {
			fields[name] = append(fields[name], field)
			optional[name] = optional[name] || !slices.Contains(required, name)
		}
		for _, sub := range n.Subs {
			if sub.Keyword == "items" {
				elements = append(elements, sub.To)
			}
		}
	}
	p := Place{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if p.Fields == nil {
			p.Fields = map[string]PlaceField{}
		}
		place := s.place(fields[name])
		p.Fields[name] = PlaceField{Mode: s.mode(place, optional[name]), Place: place}
	}
	if elements != nil {
		items := s.place(elements)
		p.Items = &items
	}
	s.places[i] = p
	return i
}

func (s *shaper) mode(place int, optional bool) Mode {
	switch {
	case !optional:
		return Plain
	case s.nullable[place]:
		return Wrapped
	default:
		return Null
	}
}

// write returns the schema of one place.
func (s *shaper) write(n *jsonschema.Node, place int) map[string]any {
	s.written.add(n)
	if s.full || s.written.full() {
		return map[string]any{}
	}
	if n.Ref != nil {
		return map[string]any{"$ref": s.define(n.Ref, place)}
	}
	out := map[string]any{}
	if text, ok := n.Text("description"); ok {
		out["description"] = text
	}
	var branches []any
	for _, sub := range n.Subs {
		if sub.Keyword == "anyOf" {
			branches = append(branches, s.write(sub.To, place))
		}
	}
	if branches != nil {
		out["anyOf"] = branches
		return out
	}
	for _, keyword := range n.Keywords() {
		if jsonschema.RoleOf(keyword) == jsonschema.Asserts && keyword != "required" {
			out[keyword] = n.Object[keyword]
		}
	}
	s.open(n, out)
	listed := out["enum"] != nil || out["const"] != nil
	if n.Object["properties"] != nil || kindOfType(out, "object") && !listed {
		s.object(n, place, out)
	}
	for _, sub := range n.Subs {
		if sub.Keyword == "items" {
			out["items"] = s.write(sub.To, *s.places[place].Items)
		}
	}
	if kindOfType(out, "array") && out["items"] == nil && !listed {
		out["items"] = s.scalar(n, "items")
	}
	return out
}

func kindOfType(out map[string]any, kind string) bool {
	return slices.Contains(typeList(out["type"]), any(kind))
}

// open reports what the strict form closes. It sets a type if there is none, because strict
// providers need one in every schema.
func (s *shaper) open(n *jsonschema.Node, out map[string]any) {
	switch {
	case out["type"] == nil && (out["enum"] != nil || out["const"] != nil):
		out["type"] = n.Kinds()
	case out["type"] == nil && out["enum"] == nil && out["const"] == nil && n.Object["properties"] == nil:
		maps.Copy(out, s.scalar(n, "type"))
	case out["type"] == nil && n.Object["properties"] != nil:
		out["type"] = "object"
		s.find(n, "type", "a value that is no object cannot be sent")
	}
	listed := out["enum"] != nil || out["const"] != nil
	if (n.Object["properties"] != nil || kindOfType(out, "object") && !listed) && n.Object["additionalProperties"] != false {
		s.find(n, "additionalProperties", "fields that are not listed cannot be sent")
	}
}

// scalar returns the schema that replaces a schema of any type.
func (s *shaper) scalar(n *jsonschema.Node, keyword string) map[string]any {
	s.find(n, keyword, "only a string, a number, true, false and null can be sent")
	return map[string]any{"type": []any{"string", "number", "boolean", "null"}}
}

func (s *shaper) find(n *jsonschema.Node, keyword, text string) {
	at, _ := n.Text(traceWord)
	pointer := at + "/" + keyword
	s.findings = append(s.findings, Finding{Pointer: strictjson.Printable(pointer), Keyword: keyword, Effect: Tightened, Text: text})
}

func (s *shaper) object(n *jsonschema.Node, place int, out map[string]any) {
	fields := newTable()
	names := []any{}
	required := n.Names("required")
	for _, name := range n.Order {
		f := s.places[place].Fields[name]
		written := s.write(n.Fields[name], f.Place)
		optional := !slices.Contains(required, name)
		if f.Mode == Wrapped {
			written = map[string]any{
				"type": "object", "properties": map[string]any{wrappedName: written}, "required": []any{wrappedName}, "additionalProperties": false,
			}
		}
		if f.Mode != Plain && optional {
			written = orNull(written)
		}
		fields.set(name, written)
		names = append(names, name)
	}
	for _, name := range required {
		if n.Fields[name] == nil {
			fields.set(name, s.scalar(n, "required"))
			names = append(names, name)
		}
	}
	out["properties"], out["required"], out["additionalProperties"] = fields, names, false
}

// orNull returns the written schema with null allowed.
func orNull(written map[string]any) map[string]any {
	kind, single := written["type"].(string)
	if single && written["enum"] == nil && written["const"] == nil {
		out := maps.Clone(written)
		out["type"] = []any{kind, "null"}
		return out
	}
	null := map[string]any{"type": "null"}
	if list, ok := written["anyOf"].([]any); ok {
		out := maps.Clone(written)
		out["anyOf"] = append(slices.Clone(list), null)
		return out
	}
	return map[string]any{"anyOf": []any{written, null}}
}

// define writes the target of a reference, once for each place, and returns a reference to it.
func (s *shaper) define(target *jsonschema.Node, place int) string {
	if len(target.At) == 0 && place == 0 {
		return "#"
	}
	key := strconv.Itoa(s.ids[target]) + " " + strconv.Itoa(place)
	if name, ok := s.names[key]; ok {
		return "#/$defs/" + name
	}
	name := freeName(s.defs, lastOf(target.At))
	s.names[key] = name
	s.defs[name] = map[string]any{}
	s.defs[name] = s.write(target, place)
	return "#/$defs/" + name
}
