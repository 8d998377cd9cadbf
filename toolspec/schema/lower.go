package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// traceWord is a keyword with the place of a written schema in the original document. It is removed
// before the document leaves the package.
const traceWord = "x-pawl-at"

// lowerer writes schemas in a dialect.
type lowerer struct {
	d        dialect
	root     *jsonschema.Node
	cycles   *cycles
	trace    bool
	findings []Finding
	names    map[*jsonschema.Node]string // names of the targets of references
	defs     map[string]any
	open     []*jsonschema.Node // targets that are being written out
	places   int                // number of schemas written
	written  bound
}

// maxNote bounds the bytes of a keyword that is copied to a description.
const maxNote = 200

// maxPlaces bounds the schemas of a document with its references written out.
const maxPlaces = 5_000

func newLowerer(root *jsonschema.Node, d dialect) *lowerer {
	return &lowerer{d: d, root: root, cycles: findCycles(root), trace: d.nullable, names: map[*jsonschema.Node]string{}, defs: map[string]any{}}
}

func (l *lowerer) find(at strictjson.Path, keyword string, effect Effect, text string) {
	l.findings = append(l.findings, found(at, keyword, effect, text))
}

// note drops a keyword and adds it to the description for the model.
func (l *lowerer) note(out map[string]any, n *jsonschema.Node, keyword string) {
	l.find(n.At, keyword, Dropped, "the format does not take it")
	raw, err := strictjson.Encode(n.Object[keyword])
	if err != nil || len(raw) > maxNote {
		return
	}
	text, _ := out["description"].(string)
	if text != "" {
		text += "\n"
	}
	out["description"] = text + "{" + keyword + ": " + string(raw) + "}"
}

func (l *lowerer) document(root *jsonschema.Node) (json.RawMessage, error) {
	l.open = append(l.open, root)
	out := l.schema(root)
	l.open = l.open[:0]
	l.top(root, out)
	if l.places > maxPlaces || l.written.full() {
		return nil, jsonschema.Refuse(nil, "too large with its references written out")
	}
	if len(l.defs) > 0 {
		out["$defs"] = l.defs
	}
	if !l.d.strict {
		l.tidy(out)
	}
	return strictjson.Encode(out)
}

// tidy removes the keywords that were only needed to combine schemas.
func (l *lowerer) tidy(out map[string]any) {
	if !l.d.takes("additionalProperties") {
		delete(out, "additionalProperties")
	}
	if l.d.nullable {
		l.object(out)
	}
	delete(out, traceWord)
	branches, _ := out["anyOf"].([]any)
	inner := append(slices.Collect(maps.Values(fieldsOf(out).of)), branches...)
	for _, value := range append(inner, out["items"]) {
		if below, ok := value.(map[string]any); ok {
			l.tidy(below)
		}
	}
}

// object sets the type object on a schema that lists fields, and drops unlisted fields from
// required.
func (l *lowerer) object(out map[string]any) {
	at, _ := out[traceWord].(string)
	fields, lists := fieldsOf(out).of, out["properties"] != nil
	required, _ := out["required"].([]any)
	listed := slices.DeleteFunc(slices.Clone(required), func(name any) bool {
		text, _ := name.(string)
		return fields[text] == nil
	})
	if (lists || len(listed) > 0) && out["type"] == nil {
		out["type"] = "object"
		l.findings = append(l.findings, Finding{at + "/type", "type", Tightened, "a value that is no object cannot be sent"})
	}
	if len(listed) < len(required) {
		l.findings = append(l.findings, Finding{at + "/required", "required", Loosened, "a field that is not listed cannot be required"})
	}
	if delete(out, "required"); len(listed) > 0 {
		out["required"] = listed
	}
}

// top removes from the root the keywords that the root may not have.
func (l *lowerer) top(root *jsonschema.Node, out map[string]any) {
	for _, keyword := range l.d.notAtTop {
		list, _ := out[keyword].([]any)
		if _, there := out[keyword]; !there {
			continue
		}
		delete(out, keyword)
		if keyword != "anyOf" {
			l.find(root.At, keyword, Dropped, "not taken at the root")
			continue
		}
		var parts []map[string]any
		for _, part := range list {
			if written, ok := part.(map[string]any); ok {
				parts = append(parts, l.follow(written))
			}
		}
		l.unite(out, parts, root.At, keyword)
	}
	out["type"] = "object"
	if _, ok := out["properties"]; !ok {
		out["properties"] = new(table)
	}
}

// follow returns the target of a written reference.
func (l *lowerer) follow(written map[string]any) map[string]any {
	for range 32 {
		ref, ok := written["$ref"].(string)
		if !ok {
			return written
		}
		next, ok := l.defs[ref[min(len(ref), len("#/$defs/")):]].(map[string]any)
		if !ok {
			l.find(nil, "$ref", Loosened, "a composition inside of what it refers to")
			return map[string]any{}
		}
		written = next
	}
	return map[string]any{}
}

// copied returns the target of a written reference, which the caller writes at one more place. It
// counts the bytes of that copy.
func (l *lowerer) copied(written map[string]any) map[string]any {
	target := l.follow(written)
	if written["$ref"] != nil && !l.written.full() {
		raw, _ := strictjson.Encode(target) // it was made of JSON
		l.written.bytes += len(raw)
	}
	return target
}

// schema writes one schema. It always returns a new map, which the caller may change.
func (l *lowerer) schema(n *jsonschema.Node) map[string]any {
	out := map[string]any{}
	l.places++
	l.written.add(n)
	if l.places > maxPlaces || l.written.full() {
		return out
	}
	if n.Object == nil {
		if !n.Boolean {
			l.find(n.At[:max(len(n.At)-1, 0)], lastOf(n.At), Dropped, "a schema that accepts nothing")
		}
		return out
	}
	if l.trace {
		out[traceWord] = n.At.Short()
	}
	l.annotations(n, out)
	if n.Ref != nil {
		written := l.reference(n)
		if n.Draft.RefAlone() || n.RuleBesideRef() == "" {
			if written["$ref"] != nil {
				return written
			}
			for keyword, value := range written {
				if _, own := out[keyword]; !own || keyword == traceWord {
					out[keyword] = value
				}
			}
			return out
		}
		l.values(n, out)
		l.conjoin(out, l.copied(written), n.At.With("$ref"))
		return out
	}
	l.values(n, out)
	return out
}

func lastOf(at strictjson.Path) string {
	if len(at) == 0 {
		return ""
	}
	return at[len(at)-1]
}

// annotations copies the annotations that the target accepts.
func (l *lowerer) annotations(n *jsonschema.Node, out map[string]any) {
	for _, keyword := range []string{"description", "title"} {
		if text, ok := n.Text(keyword); ok && (keyword == "description" || !l.d.strict) {
			out[keyword] = text
		}
	}
}

// reference writes the target of $ref: as a reference if the target format has references, else in
// full. It cuts recursion.
func (l *lowerer) reference(n *jsonschema.Node) map[string]any {
	target := n.Ref
	back := slices.Contains(l.open, target) || l.d.refs && !l.d.recurses && l.cycles.isRecursive(n)
	switch {
	case l.d.refs && l.d.recurses && target == l.root:
		return map[string]any{"$ref": "#"}
	case back && !(l.d.refs && l.d.recurses):
		l.find(n.At, "$ref", Loosened, "a recursive reference is not taken: the inner value is left open")
		return l.cutShort(target)
	case l.d.refs:
		return map[string]any{"$ref": "#/$defs/" + l.define(target)}
	}
	l.find(n.At, "$ref", Inlined, "references are not taken")
	l.open = append(l.open, target)
	defer func() { l.open = l.open[:len(l.open)-1] }()
	return l.schema(target)
}

// cutShort returns the schema that replaces a recursive reference: it has only the type of the target, if the target has a
// single type.
func (l *lowerer) cutShort(target *jsonschema.Node) map[string]any {
	out := map[string]any{}
	if l.trace {
		out[traceWord] = target.At.Short()
	}
	if kind, ok := target.Text("type"); ok {
		out["type"] = kind
	}
	return out
}

// define writes the target of a reference once and returns its name.
func (l *lowerer) define(target *jsonschema.Node) string {
	if name, ok := l.names[target]; ok {
		return name
	}
	name := ""
	if len(target.At) == 2 {
		name = lastOf(target.At)
	}
	name = freeName(l.defs, name)
	l.names[target] = name
	l.defs[name] = nil // reserve the name
	l.defs[name] = l.schema(target)
	return name
}

// freeName returns name, or another name if defs has a definition of this name or if no definition can have it.
func freeName(defs map[string]any, name string) string {
	_, taken := defs[name]
	for n := len(defs) + 1; taken || !jsonschema.IsAnchor(name); n++ {
		name = "s" + strconv.Itoa(n)
		_, taken = defs[name]
	}
	return name
}

// branches returns the alternatives of anyOf or oneOf.
func (l *lowerer) branches(n *jsonschema.Node, keyword string) []any {
	var list []any
	for _, s := range n.Subs {
		if s.Keyword == keyword && (s.To.Object != nil || s.To.Boolean) {
			list = append(list, l.schema(s.To))
		}
	}
	return list
}

// spread combines each alternative with the keywords beside it, because strict forms do not allow
// keywords beside alternatives.
func (l *lowerer) spread(out map[string]any, list []any, at strictjson.Path) []any {
	beside := maps.Clone(out)
	for _, keyword := range []string{"description", "title", traceWord} {
		delete(beside, keyword)
	}
	if len(beside) == 0 {
		return list
	}
	spread := make([]any, 0, len(list))
	for _, item := range list {
		branch, _ := item.(map[string]any)
		joined := maps.Clone(l.copied(branch))
		l.conjoin(joined, beside, at)
		spread = append(spread, joined)
	}
	for keyword := range beside {
		delete(out, keyword)
	}
	return spread
}
