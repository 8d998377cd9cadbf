package jsonschema

import (
	"encoding/json"
	"slices"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Schema is a compiled document. It is immutable and safe for concurrent use;
// compiling costs a fraction of a millisecond and is paid once by its owner.
type Schema struct {
	document json.RawMessage
	digest   string
	root     *Node
	busy     bool // an instance may cost much: its steps are counted
}

// Compile checks and compiles one document of draft-04, 06, 07, 2019-09 or
// 2020-12, or of the dialects [OpenAPI30] and [OpenAPI31]. $schema names the draft; if it is absent, the draft is the newest
// one that knows every keyword of the document, and a document that two drafts
// read differently is refused. It takes input and output schemas alike; input
// schemas must also pass CheckInput of package schema.
//
// It refuses what it could not enforce as written: a root that is not an object
// type, what the meta-schema of the draft forbids, keywords of other drafts,
// words that look like a misspelled keyword, references that leave the document
// or lead nowhere, schemas that refer to themselves in place, nested ids and
// names given twice, dynamic references, patterns that RE2 does not know or
// reads otherwise, and documents beyond [MaxDocumentBytes], [strictjson.MaxDepth] or the
// bounds on patterns and branches. The error is a [*Refusal]. Unknown formats
// and content keywords other than base64 are annotations, as the specification
// says.
func Compile(doc json.RawMessage) (*Schema, error) {
	root, err := Parse(doc)
	return newSchema(doc, root, err)
}

// CompileValue is Compile for documents whose values need not be objects.
func CompileValue(doc json.RawMessage) (*Schema, error) {
	root, err := ParseValue(doc)
	return newSchema(doc, root, err)
}

func newSchema(doc json.RawMessage, root *Node, err error) (*Schema, error) {
	if err != nil {
		return nil, err
	}
	digest, err := strictjson.Digest(doc)
	if err != nil {
		return nil, &Refusal{Reason: err.Error()}
	}
	return &Schema{document: slices.Clone(doc), digest: digest, root: root, busy: root.busy()}, nil
}

// Parse reads a document, checks it against its draft and resolves it, as [Compile]
// says.
func Parse(doc json.RawMessage) (*Node, error) { return parse(doc, false) }

// ParseValue is Parse for documents whose values need not be objects.
func ParseValue(doc json.RawMessage) (*Node, error) { return parse(doc, true) }

func parse(doc json.RawMessage, anyValue bool) (*Node, error) {
	root, err := read(doc, anyValue)
	if err != nil {
		return nil, err
	}
	if err := checkPatterns(root); err != nil {
		return nil, err
	}
	draft, err := detect(root)
	if err != nil {
		return nil, err
	}
	_ = root.Walk(func(n *Node) error {
		n.Draft = draft
		return nil
	})
	if err := resolve(root, draft); err != nil {
		return nil, err
	}
	_ = root.Walk(func(n *Node) error {
		n.build(draft)
		return nil
	})
	return root, nil
}

// Document returns a copy of the document.
func (s *Schema) Document() json.RawMessage { return slices.Clone(s.document) }

// Digest identifies the document: lower-case hex SHA-256 of its RFC 8785 form.
func (s *Schema) Digest() string { return s.digest }

// Draft is the version of JSON Schema by which the document is read.
func (s *Schema) Draft() Draft { return s.root.Draft }
