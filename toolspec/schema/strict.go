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

// wrappedName is the one field of a wrapped value.
const wrappedName = "value"

// strictForm writes a document in the form that strict providers need: every
// object closed, every field required, optional ones nullable.
//
// An optional field is required and may be null, which stands for its absence.
// Where the field may be null itself, null would stand for two things: it is
// wrapped as {"value": x}. Alternatives that describe the same field are
// encoded in one way, so that a mapping needs no verdict about them.
//
// The findings say what could not be expressed. Tightened ones keep valid calls
// from being made: open objects and maps are closed, a value of any kind may be
// a scalar only.
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

// lowerTraced reads what a document is in the target's words, before it is made
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

// shaper knows the places of a document: for each, the schemas that may
// describe the value there. The alternatives of one place are encoded alike.
type shaper struct {
	d        dialect
	ids      map[*jsonschema.Node]int
	byKey    map[string]int // place by the schemas that meet there, and by what leads to them
	places   []Place
	nullable []bool // of each place: some value there is null
	defs     map[string]any
	names    map[string]string // definition by schema and place
	findings []Finding
	written  bound
	full     bool // too many places
}

// terminals are the schemas behind references and alternatives, each once,
// however many ways lead there.
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

// key sorts a list of schemas and names it.
func (s *shaper) key(nodes []*jsonschema.Node) string {
	slices.SortFunc(nodes, func(a, b *jsonschema.Node) int { return s.ids[a] - s.ids[b] })
	var key strings.Builder
	for _, n := range nodes {
		key.WriteString(strconv.Itoa(s.ids[n]))
		key.WriteByte(' ')
	}
	return key.String()
}

// place returns the index of the place that the schemas describe.
func (s *shaper) place(nodes []*jsonschema.Node) int {
	// Fields that refer to the same alternatives need no look at each of them.
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

// write writes the schema of one place.
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

// open reports what the strict form closes, and names a type where there is
// none: strict providers want one everywhere.
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

// scalar is what stands for a value of any kind.
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

// orNull allows null beside what was written.
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

// define writes what a reference leads to, once for each place.
func (s *shaper) define(target *jsonschema.Node, place int) string {
	if len(target.At) == 0 && place == 0 {
		return "#"
	}
	key := strconv.Itoa(s.ids[target]) + " " + strconv.Itoa(place)
	if name, ok := s.names[key]; ok {
		return "#/$defs/" + name
	}
	name := lastOf(target.At)
	if _, taken := s.defs[name]; taken || !jsonschema.IsAnchor(name) {
		name = "s" + strconv.Itoa(len(s.defs)+1)
	}
	s.names[key] = name
	s.defs[name] = map[string]any{}
	s.defs[name] = s.write(target, place)
	return "#/$defs/" + name
}
