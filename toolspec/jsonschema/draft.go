package jsonschema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Draft is a version of JSON Schema.
type Draft int

// The drafts, oldest first.
const (
	Draft04 Draft = iota
	Draft06
	Draft07
	Draft2019 // 2019-09
	Draft2020 // 2020-12

	newest = Draft2020
)

// String returns the usual name of the draft, such as draft-07 or 2020-12.
func (d Draft) String() string {
	return [...]string{"draft-04", "draft-06", "draft-07", "2019-09", "2020-12"}[d]
}

// URI returns the URI of the draft's meta-schema, as in $schema.
func (d Draft) URI() string {
	return [...]string{
		"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
	}[d]
}

// RefAlone reports whether the draft ignores the keywords beside $ref.
func (d Draft) RefAlone() bool { return d <= Draft07 }

// draftOf returns the draft that $schema names. It accepts http and https, with and without an
// empty fragment.
func draftOf(dialect any) (Draft, bool) {
	bare := func(uri string) string {
		_, rest, _ := strings.Cut(strings.TrimSuffix(uri, "#"), "://")
		return rest
	}
	uri, _ := dialect.(string)
	for d := Draft04; d <= newest; d++ {
		if strings.HasPrefix(uri, "http") && bare(uri) == bare(d.URI()) {
			return d, true
		}
	}
	return 0, false
}

// Declare returns the document with a $schema of draft d, unless it has one. It is for protocols
// that define the draft of a document without $schema, such as MCP (2020-12). A document that is
// not a JSON object is returned unchanged.
func Declare(doc json.RawMessage, d Draft) json.RawMessage {
	var members map[string]json.RawMessage
	if strictjson.Check(doc) != nil || json.Unmarshal(doc, &members) != nil || members == nil || members["$schema"] != nil {
		return doc
	}
	head := `{"$schema":"` + d.URI() + `"`
	if len(members) > 0 {
		head += ","
	}
	return slices.Concat(json.RawMessage(head), bytes.TrimLeft(doc, " \t\r\n")[1:])
}

// detect returns the draft of a document and checks the document against it. A document without
// $schema has the newest draft for which it is valid. It is refused if two such drafts give it
// different meanings.
func detect(root *Node) (Draft, error) {
	if dialect, declared := root.Object["$schema"]; declared {
		d, known := draftOf(dialect)
		if !known {
			return 0, Refuse(strictjson.Path{"$schema"}, "dialect is not one of draft-04, draft-06, draft-07, 2019-09, 2020-12, OpenAPI 3.0 and 3.1")
		}
		return d, checkDraft(root, d, true)
	}
	hints := hintsOf(root)
	candidates := []Draft{Draft2020, Draft2019, Draft07, Draft06}
	if hints.draft04 {
		candidates = []Draft{Draft04, Draft2020, Draft2019, Draft07, Draft06}
	}
	var first error
	for i, d := range candidates {
		err := checkDraft(root, d, false)
		if err == nil {
			return d, hints.checkAmbiguous(root, d, candidates[i+1:])
		}
		if first == nil {
			first = err
		}
	}
	return 0, first
}

// hints are the properties of a document without $schema that indicate its draft.
type hints struct {
	draft04      bool            // id at the root, or a boolean exclusive bound
	besideRef    strictjson.Path // a rule beside $ref, which drafts treat differently
	unevaluated  strictjson.Path // unevaluatedItems in a document that also has contains
	withContains bool
}

func hintsOf(root *Node) *hints {
	h := new(hints)
	_, h.draft04 = root.Text("id")
	_ = root.Walk(func(n *Node) error {
		for _, keyword := range []string{"exclusiveMinimum", "exclusiveMaximum"} {
			if _, boolean := n.Object[keyword].(bool); boolean {
				h.draft04 = true
			}
		}
		if _, ok := n.Object["contains"]; ok {
			h.withContains = true
		}
		if _, ok := n.Object["unevaluatedItems"]; ok && h.unevaluated == nil {
			h.unevaluated = n.At.With("unevaluatedItems")
		}
		if _, ok := n.Object["$ref"]; ok && h.besideRef == nil {
			if keyword := n.RuleBesideRef(); keyword != "" {
				h.besideRef = n.At.With(keyword)
			}
		}
		return nil
	})
	return h
}

// RuleBesideRef returns the first keyword beside $ref that has a meaning, or "".
func (n *Node) RuleBesideRef() string {
	for _, keyword := range n.Keywords() {
		if k, known := vocabulary[keyword]; known && keyword != "$ref" && (k.role == Asserts || k.role == Applies) {
			return keyword
		}
	}
	return ""
}

func (h *hints) checkAmbiguous(root *Node, d Draft, others []Draft) error {
	for _, other := range others {
		differs, at := h.differ(d, other)
		if differs && checkDraft(root, other, false) == nil {
			return Refuse(at, "%s and %s read this differently: say which is meant with $schema", d, other)
		}
	}
	return nil
}

func (h *hints) differ(a, b Draft) (bool, strictjson.Path) {
	switch {
	case h.besideRef != nil && a.RefAlone() != b.RefAlone():
		return true, h.besideRef
	case h.unevaluated != nil && h.withContains && min(a, b) == Draft2019 && max(a, b) == Draft2020:
		return true, h.unevaluated
	}
	return false, nil
}
