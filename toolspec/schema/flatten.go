package schema

import (
	"slices"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// flattener writes a document for a target that accepts all of JSON Schema below the root. It
// writes the compositions of the root into the root.
type flattener struct {
	*lowerer
	w      *writer
	out    map[string]any
	joined map[*jsonschema.Node]bool // the parts of allOf that out has
	notes  []rule
	err    error
}

// rule is a keyword of a schema.
type rule struct {
	of      *jsonschema.Node
	keyword string
}

func newFlattener(root *jsonschema.Node, d dialect) *flattener {
	w := newWriter(root)
	for _, s := range root.Subs {
		if slices.Contains(d.notAtTop, s.Keyword) {
			w.leaveOut(s.To)
		}
	}
	return &flattener{lowerer: newLowerer(root, d), w: w, joined: map[*jsonschema.Node]bool{}}
}

func (f *flattener) write() (*Sent, error) {
	f.out = f.plain(f.root)
	if composed := f.compositions(f.root); composed {
		delete(f.out, "unevaluatedProperties") // it depended on the members that the removed keywords describe
	}
	for _, r := range f.notes { // behind the description, which can be that of a part
		f.note(f.out, r.of, r.keyword)
	}
	if f.err != nil {
		return nil, f.err
	}
	written, err := f.w.encode(f.out)
	if err != nil {
		return nil, err
	}
	return &Sent{Document: written, Findings: sortFindings(f.findings)}, nil
}

// plain writes a schema without the keywords that the root may not have.
func (f *flattener) plain(n *jsonschema.Node) map[string]any {
	out, ok := f.w.without(n, f.d.notAtTop).(map[string]any)
	if !ok {
		return map[string]any{}
	}
	return out
}

// compositions writes into out what the keywords of n say that the root may not have. n is the root
// or a part of allOf. It reports whether n has such a keyword.
func (f *flattener) compositions(n *jsonschema.Node) bool {
	if n.Ref != nil && n.Draft.RefAlone() {
		return false
	}
	has := false
	for _, keyword := range f.d.notAtTop {
		if _, there := n.Object[keyword]; !there || !n.Draft.Knows(keyword) {
			continue
		}
		has = true
		switch keyword {
		case "allOf":
			f.parts(n, keyword, f.joined, func(part *jsonschema.Node) {
				f.conjoin(f.out, f.plain(part), n.At.With(keyword))
				f.compositions(part)
			})
		case "anyOf", "oneOf":
			var alternatives []map[string]any
			f.parts(n, keyword, map[*jsonschema.Node]bool{}, func(part *jsonschema.Node) {
				alternatives = append(alternatives, f.plain(part))
			})
			f.unite(f.out, alternatives, n.At, keyword)
		default:
			f.notes = append(f.notes, rule{n, keyword})
		}
	}
	return has
}

// parts calls visit for the schemas under a keyword of n that are not in seen, and adds them to
// seen. It follows references, and stops if the targets together are too large.
func (f *flattener) parts(n *jsonschema.Node, keyword string, seen map[*jsonschema.Node]bool, visit func(*jsonschema.Node)) {
	for _, s := range n.Subs {
		if s.Keyword != keyword {
			continue
		}
		part := s.To
		for part.Ref != nil && part.RefAlone() {
			part = part.Ref
		}
		if seen[part] {
			continue
		}
		seen[part] = true
		if part != s.To {
			if f.err = part.Walk(f.count); f.err != nil {
				return
			}
		}
		visit(part)
	}
}

// count counts a schema that is written at one more place.
func (f *flattener) count(n *jsonschema.Node) error {
	f.written.add(n)
	if f.written.full() {
		return jsonschema.Refuse(nil, "too large with its references written out")
	}
	return nil
}
