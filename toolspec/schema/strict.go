package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
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
	s := &shaper{d: d, byKey: map[string]int{}, names: map[string]string{}, ids: map[*node]int{}}
	s.defs = map[string]any{}
	_ = plain.walk(func(n *node) error {
		s.ids[n] = len(s.ids)
		return nil
	})
	top := s.place([]*node{plain})
	out := s.write(plain, top)
	if s.full {
		return nil, refuse(nil, "too large for a strict form")
	}
	if len(s.defs) > 0 {
		out["$defs"] = s.defs
	}
	document, err := encode(out)
	if err != nil {
		return nil, err
	}
	return &Sent{Document: document, Mapping: &Mapping{Places: s.places}, Findings: sortFindings(append(findings, s.findings...))}, nil
}

// lowerTraced reads what a document is in the target's words, before it is made
// strict.
func lowerTraced(doc json.RawMessage, d dialect) (*node, []Finding, error) {
	root, _, err := analyse(doc)
	if err != nil {
		return nil, nil, err
	}
	l := newLowerer(root, d)
	l.trace = true
	lowered, err := l.document(root)
	if err != nil {
		return nil, nil, err
	}
	plain, _, err := analyse(lowered)
	return plain, l.findings, err
}

// shaper knows the places of a document: for each, the schemas that may
// describe the value there. The alternatives of one place are encoded alike.
type shaper struct {
	d        dialect
	ids      map[*node]int
	byKey    map[string]int // place by the schemas that meet there, and by what leads to them
	places   []Place
	nullable []bool // of each place: some value there is null
	defs     map[string]any
	names    map[string]string // definition by schema and place
	findings []Finding
	full     bool
}

// terminals are the schemas behind references and alternatives, each once,
// however many ways lead there.
func terminals(nodes []*node) []*node {
	var ends []*node
	seen := map[*node]bool{}
	var visit func(n *node)
	visit = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		alternatives := false
		for next := range n.applied {
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
func (s *shaper) key(nodes []*node) string {
	slices.SortFunc(nodes, func(a, b *node) int { return s.ids[a] - s.ids[b] })
	var key strings.Builder
	for _, n := range nodes {
		key.WriteString(strconv.Itoa(s.ids[n]))
		key.WriteByte(' ')
	}
	return key.String()
}

// place returns the index of the place that the schemas describe.
func (s *shaper) place(nodes []*node) int {
	// Fields that refer to the same alternatives need no look at each of them.
	heads := slices.Clone(nodes)
	for i := range heads {
		for heads[i].ref != nil {
			heads[i] = heads[i].ref
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
	s.nullable = append(s.nullable, slices.ContainsFunc(ends, func(n *node) bool { return n.acceptsJSON(json.RawMessage("null")) }))
	if len(s.places) > maxPlaces {
		s.full = true
		return i
	}
	fields := map[string][]*node{}
	optional := map[string]bool{}
	var elements []*node
	for _, n := range ends {
		required := n.names("required")
		for name, field := range n.fields {
			fields[name] = append(fields[name], field)
			optional[name] = optional[name] || !slices.Contains(required, name)
		}
		for _, sub := range n.subs {
			if sub.keyword == "items" {
				elements = append(elements, sub.to)
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
func (s *shaper) write(n *node, place int) map[string]any {
	if s.full {
		return map[string]any{}
	}
	if n.ref != nil {
		return map[string]any{"$ref": s.define(n.ref, place)}
	}
	out := map[string]any{}
	if text, ok := n.text("description"); ok {
		out["description"] = text
	}
	var branches []any
	for _, sub := range n.subs {
		if sub.keyword == "anyOf" {
			branches = append(branches, s.write(sub.to, place))
		}
	}
	if branches != nil {
		out["anyOf"] = branches
		return out
	}
	for _, keyword := range n.keywords() {
		k := vocabulary[keyword]
		if k.role == asserts && keyword != "required" {
			out[keyword] = n.object[keyword]
		}
	}
	s.open(n, out)
	listed := out["enum"] != nil || out["const"] != nil
	if n.object["properties"] != nil || kindOfType(out, "object") && !listed {
		s.object(n, place, out)
	}
	for _, sub := range n.subs {
		if sub.keyword == "items" {
			out["items"] = s.write(sub.to, *s.places[place].Items)
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
func (s *shaper) open(n *node, out map[string]any) {
	switch {
	case out["type"] == nil && (out["enum"] != nil || out["const"] != nil):
		out["type"] = n.kindsOf()
	case out["type"] == nil && out["enum"] == nil && out["const"] == nil && n.object["properties"] == nil:
		maps.Copy(out, s.scalar(n, "type"))
	case out["type"] == nil && n.object["properties"] != nil:
		out["type"] = "object"
		s.find(n, "type", "a value that is no object cannot be sent")
	}
	listed := out["enum"] != nil || out["const"] != nil
	if (n.object["properties"] != nil || kindOfType(out, "object") && !listed) && n.object["additionalProperties"] != false {
		s.find(n, "additionalProperties", "fields that are not listed cannot be sent")
	}
}

// scalar is what stands for a value of any kind.
func (s *shaper) scalar(n *node, keyword string) map[string]any {
	s.find(n, keyword, "only a string, a number, true, false and null can be sent")
	return map[string]any{"type": []any{"string", "number", "boolean", "null"}}
}

func (s *shaper) find(n *node, keyword, text string) {
	at, _ := n.text(traceWord)
	pointer := at + "/" + keyword
	s.findings = append(s.findings, Finding{Pointer: printable(pointer), Keyword: keyword, Effect: Tightened, Text: text})
}

func (s *shaper) object(n *node, place int, out map[string]any) {
	fields := map[string]any{}
	names := []any{}
	required := n.names("required")
	for _, name := range slices.Sorted(maps.Keys(n.fields)) {
		f := s.places[place].Fields[name]
		written := s.write(n.fields[name], f.Place)
		optional := !slices.Contains(required, name)
		if f.Mode == Wrapped {
			written = map[string]any{
				"type": "object", "properties": map[string]any{wrappedName: written}, "required": []any{wrappedName}, "additionalProperties": false,
			}
		}
		if f.Mode != Plain && optional {
			written = orNull(written)
		}
		fields[name] = written
		names = append(names, name)
	}
	for _, name := range required {
		if n.fields[name] == nil {
			fields[name] = s.scalar(n, "required")
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
func (s *shaper) define(target *node, place int) string {
	if len(target.at) == 0 && place == 0 {
		return "#"
	}
	key := strconv.Itoa(s.ids[target]) + " " + strconv.Itoa(place)
	if name, ok := s.names[key]; ok {
		return "#/$defs/" + name
	}
	name := lastOf(target.at)
	if _, taken := s.defs[name]; taken || !anchorName.MatchString(name) {
		name = "s" + strconv.Itoa(len(s.defs)+1)
	}
	s.names[key] = name
	s.defs[name] = map[string]any{}
	s.defs[name] = s.write(target, place)
	return "#/$defs/" + name
}
