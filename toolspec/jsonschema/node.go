package jsonschema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Node is one schema of a document: the document itself, or a subschema that a keyword applies. The
// nodes of a document are a tree; Ref can also lead to a parent.
type Node struct {
	At      strictjson.Path  // place in the document
	Object  map[string]any   // nil for a boolean schema
	Boolean bool             // meaning of a boolean schema
	Subs    []Sub            // in a fixed order
	Fields  map[string]*Node // subs under "properties", by name
	Order   []string         // names under "properties", as the document lists them; empty in an outline
	Ref     *Node            // target of $ref
	program int              // instructions of its patterns; after resolve, of all applied in place
	weight  int              // after resolve, steps of one scalar, see effort.go

	// Translated reports, for the root, that the document names a dialect of OpenAPI, and that the
	// tree was rewritten in the keywords of Draft.
	Translated bool
	// IdleNullable reports that the schema has nullable of OpenAPI 3.0 without a type, which has no
	// effect.
	IdleNullable bool

	Draft Draft  // after detect
	rules *rules // after build
}

// Sub is a subschema of a schema.
type Sub struct {
	Keyword string
	Name    string // property name, pattern or index; "" for a single schema
	To      *Node
}

// shape is the form in which a keyword holds its subschemas.
type shape int

const (
	notSchema shape = iota
	one             // a schema
	list            // an array of schemas
	table           // an object of schemas
	either          // items: a schema, or an array of schemas in older drafts
	depends         // dependencies: an object of schemas or of name lists
)

// AppliesInPlace reports whether the keyword applies its subschemas to the same
// instance value as the schema that holds it.
func AppliesInPlace(keyword string) bool {
	switch keyword {
	case "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies":
		return true
	}
	return false
}

// parseNode builds the tree of a decoded document. A value that should be a schema and is neither
// an object nor a boolean is refused; with loose, it is left out.
func parseNode(value any, at strictjson.Path, loose bool) (*Node, error) {
	n := &Node{At: at}
	switch value := value.(type) {
	case bool:
		n.Boolean = value
		return n, nil
	case map[string]any:
		n.Object = value
	default:
		return nil, Refuse(at, "a schema must be an object or a boolean")
	}
	for _, keyword := range n.Keywords() {
		if err := n.parseKeyword(keyword, n.Object[keyword], loose); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (n *Node) parseKeyword(keyword string, value any, loose bool) error {
	at := n.At.With(keyword)
	kind := shapeOf(keyword)
	members, isList := value.([]any)
	named, isTable := value.(map[string]any)
	switch {
	case kind == notSchema:
		return nil
	case kind == one, kind == either && !isList:
		return n.add(keyword, "", value, at, loose)
	case (kind == list || kind == either) && isList:
		for i, member := range members {
			token := strconv.Itoa(i)
			if err := n.add(keyword, token, member, at.With(token), loose); err != nil {
				return err
			}
		}
		return nil
	case (kind == table || kind == depends) && isTable:
		for _, name := range SortedNames(named) {
			if _, names := named[name].([]any); names && kind == depends {
				continue
			}
			if err := n.add(keyword, name, named[name], at.With(name), loose); err != nil {
				return err
			}
		}
		return nil
	}
	if loose {
		return nil
	}
	return Refuse(at, "%s has the wrong JSON type", keyword)
}

func (n *Node) add(keyword, token string, value any, at strictjson.Path, loose bool) error {
	child, err := parseNode(value, at, loose)
	switch {
	case err != nil && loose:
		return nil
	case err != nil:
		return err
	}
	n.Subs = append(n.Subs, Sub{Keyword: keyword, Name: token, To: child})
	if keyword == "properties" {
		if n.Fields == nil {
			n.Fields = map[string]*Node{}
		}
		n.Fields[token] = child
	}
	return nil
}

// Walk calls visit for n and all nodes below it, parents first, and stops at an error.
func (n *Node) Walk(visit func(*Node) error) error {
	if err := visit(n); err != nil {
		return err
	}
	for _, s := range n.Subs {
		if err := s.To.Walk(visit); err != nil {
			return err
		}
	}
	return nil
}

// Names returns the strings in the list of a keyword.
func (n *Node) Names(keyword string) []string {
	members, _ := n.Object[keyword].([]any)
	names := make([]string, 0, len(members))
	for _, member := range members {
		if name, ok := member.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// Text returns the string value of a keyword. It returns false if the value is not a string.
func (n *Node) Text(keyword string) (string, bool) {
	s, ok := n.Object[keyword].(string)
	return s, ok
}

// RefAlone reports whether $ref is the only keyword of n that has a meaning. Older drafts ignore
// other keywords beside $ref.
func (n *Node) RefAlone() bool {
	if n.Draft.RefAlone() {
		return true
	}
	for keyword := range n.Object {
		switch keyword {
		case "$ref", "title", "description", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly":
		default:
			return false
		}
	}
	return true
}

// Kinds returns the types of the values in enum or const: one name, or a list of names.
func (n *Node) Kinds() any {
	list, _ := n.Object["enum"].([]any)
	if value, ok := n.Object["const"]; ok {
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
			if kind = "number"; strictjson.ParseDecimal(value.String()).IsInteger() {
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

// Accepts reports whether a decoded value is valid under n.
func (n *Node) Accepts(value any) bool {
	raw, err := strictjson.Encode(value)
	return err == nil && n.AcceptsJSON(raw)
}

// AcceptsJSON reports whether a JSON text is valid under n, a node of a document that Parse read.
func (n *Node) AcceptsJSON(raw json.RawMessage) bool {
	t, fault := strictjson.Read(raw)
	defer t.Release()
	if fault != nil {
		return false
	}
	e := evaluator{t: t, left: maxEffort, bounded: true}
	return e.ok(n, 0, nil) && !e.over
}

// SortedNames returns the names of the members of a decoded object in a fixed order; none for a
// value that is not an object.
func SortedNames(value any) []string {
	object, _ := value.(map[string]any)
	return slices.Sorted(maps.Keys(object))
}
