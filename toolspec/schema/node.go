package schema

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// node is one schema of a document: the document itself or a subschema that a
// keyword applies. All nodes of a document form a tree; ref adds the one edge
// that may lead back.
type node struct {
	at      path             // place in the document
	object  map[string]any   // nil for a boolean schema
	boolean bool             // meaning of a boolean schema
	subs    []sub            // in a fixed order
	fields  map[string]*node // subs under "properties", by name
	ref     *node            // target of $ref
	program int              // instructions of its patterns; after resolve, of all applied in place
	weight  int              // after resolve, steps of one scalar, see effort.go

	draft Draft  // after detect
	rules *rules // after build
}

// sub is an edge from a schema to a subschema.
type sub struct {
	keyword string
	token   string // property name, pattern or index; "" for a single schema
	to      *node
}

// shape is how a keyword holds its subschemas.
type shape int

const (
	notSchema shape = iota
	one             // a schema
	list            // an array of schemas
	table           // an object of schemas
	either          // items: a schema, or an array of schemas in older drafts
	depends         // dependencies: an object of schemas or of name lists
)

// inPlace reports whether the keyword applies its subschemas to the same
// instance value as the schema that holds it.
func inPlace(keyword string) bool {
	switch keyword {
	case "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies":
		return true
	}
	return false
}

// parse reads a document into its tree. What stands where a schema belongs and
// is neither an object nor a boolean is refused: the validator would crash on
// it later.
func parse(doc json.RawMessage) (*node, error) {
	value, err := decode(doc)
	if err != nil {
		return nil, err
	}
	return parseNode(value, nil)
}

func parseNode(value any, at path) (*node, error) {
	n := &node{at: at}
	switch value := value.(type) {
	case bool:
		n.boolean = value
		return n, nil
	case map[string]any:
		n.object = value
	default:
		return nil, refuse(at, "a schema must be an object or a boolean")
	}
	for _, keyword := range n.keywords() {
		if err := n.parseKeyword(keyword, n.object[keyword]); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (n *node) parseKeyword(keyword string, value any) error {
	at := n.at.with(keyword)
	kind := shapeOf(keyword)
	members, isList := value.([]any)
	named, isTable := value.(map[string]any)
	switch {
	case kind == notSchema:
		return nil
	case kind == one, kind == either && !isList:
		return n.add(keyword, "", value, at)
	case (kind == list || kind == either) && isList:
		for i, member := range members {
			token := strconv.Itoa(i)
			if err := n.add(keyword, token, member, at.with(token)); err != nil {
				return err
			}
		}
		return nil
	case (kind == table || kind == depends) && isTable:
		for _, name := range sortedNames(named) {
			if _, names := named[name].([]any); names && kind == depends {
				continue
			}
			if err := n.add(keyword, name, named[name], at.with(name)); err != nil {
				return err
			}
		}
		return nil
	}
	return refuse(at, "%s has the wrong JSON type", keyword)
}

func (n *node) add(keyword, token string, value any, at path) error {
	child, err := parseNode(value, at)
	if err != nil {
		return err
	}
	n.subs = append(n.subs, sub{keyword: keyword, token: token, to: child})
	if keyword == "properties" {
		if n.fields == nil {
			n.fields = map[string]*node{}
		}
		n.fields[token] = child
	}
	return nil
}

// walk visits n and all below it, parents first, and stops at an error.
func (n *node) walk(visit func(*node) error) error {
	if err := visit(n); err != nil {
		return err
	}
	for _, s := range n.subs {
		if err := s.to.walk(visit); err != nil {
			return err
		}
	}
	return nil
}

// names returns the strings of a keyword that holds a list of names.
func (n *node) names(keyword string) []string {
	members, _ := n.object[keyword].([]any)
	names := make([]string, 0, len(members))
	for _, member := range members {
		if name, ok := member.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// text returns a keyword that must hold a string, if it does.
func (n *node) text(keyword string) (string, bool) {
	s, ok := n.object[keyword].(string)
	return s, ok
}

// refAlone reports whether $ref is all that n says: older drafts ignore the
// rest, newer ones have nothing else here.
func (n *node) refAlone() bool {
	if n.draft.refAlone() {
		return true
	}
	for keyword := range n.object {
		switch keyword {
		case "$ref", "title", "description", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly":
		default:
			return false
		}
	}
	return true
}

// kindsOf are the types of the values that a schema lists.
func (n *node) kindsOf() any {
	list, _ := n.object["enum"].([]any)
	if value, ok := n.object["const"]; ok {
		list = []any{value}
	}
	var kinds []any
	for _, value := range list {
		kind := "object"
		switch value := value.(type) {
		case nil:
			kind = "null"
		case string:
			kind = "string"
		case bool:
			kind = "boolean"
		case []any:
			kind = "array"
		case json.Number:
			if kind = "number"; parseDecimal(value.String()).integral() {
				kind = "integer"
			}
		}
		if !slices.Contains(kinds, any(kind)) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 1 {
		return kinds[0]
	}
	return kinds
}

// accepts reports whether a decoded value is one of n's.
func (n *node) accepts(value any) bool {
	raw, err := encode(value)
	return err == nil && n.acceptsJSON(raw)
}

func (n *node) acceptsJSON(raw json.RawMessage) bool {
	t := borrow()
	defer t.done()
	if !t.read(raw) {
		return false
	}
	e := evaluator{t: t, left: maxEffort, bounded: true}
	return e.ok(n, 0, nil) && !e.over
}

// sortedNames are the members of a decoded object in a fixed order; none of what
// is no object.
func sortedNames(value any) []string {
	object, _ := value.(map[string]any)
	return slices.Sorted(maps.Keys(object))
}

// decode reads JSON that CheckJSON has passed; numbers stay as written.
func decode(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, &Refusal{Reason: "not JSON"}
	}
	return value, nil
}

// encode writes decoded JSON: keys sorted, no HTML escapes, no line end.
func encode(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
