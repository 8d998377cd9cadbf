package schema

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/kaptinlin/jsonschema"
)

// Schema is a compiled document. It is immutable and safe for concurrent use;
// compiling costs milliseconds and is paid once by its owner.
type Schema struct {
	document json.RawMessage
	digest   string
	root     *node
	compiled *jsonschema.Schema
	weigh    bool        // an instance's effort must be estimated first
	serial   *sync.Mutex // nil unless the validator writes to the schema
}

// Compile checks and compiles one document of draft-06, draft-07, 2019-09 or
// 2020-12 (also assumed where $schema is absent). It takes input and output
// schemas alike; input schemas must also pass [CheckInput].
//
// It refuses what it could not enforce as written: a root that is not an object
// type, references that leave the document or lead nowhere, schemas that refer
// to themselves in place, malformed keywords, nested $id, dynamic references,
// patterns RE2 does not know, and documents beyond [MaxDocumentBytes],
// [MaxDepth] or the bounds on patterns and branches. The error is a [*Refusal].
// Unknown formats and content keywords other than base64 are annotations, as
// the specification says.
func Compile(doc json.RawMessage) (*Schema, error) {
	root, err := read(doc)
	if err != nil {
		return nil, err
	}
	if err := checkPatterns(root); err != nil {
		return nil, err
	}
	if err := checkMeta(root); err != nil {
		return nil, err
	}
	if err := resolve(root); err != nil {
		return nil, err
	}
	compiled, err := compileTree(doc, root)
	if err != nil {
		return nil, err
	}
	digest, err := Digest(doc)
	if err != nil {
		return nil, &Refusal{Reason: err.Error()}
	}
	s := &Schema{document: slices.Clone(doc), digest: digest, root: root, compiled: compiled, weigh: root.busy()}
	if root.anySub("patternProperties") {
		s.serial = new(sync.Mutex)
	}
	return s, nil
}

// Document returns a copy of the document as it was compiled.
func (s *Schema) Document() json.RawMessage { return slices.Clone(s.document) }

// Digest identifies the document: lower-case hex SHA-256 of its RFC 8785 form.
func (s *Schema) Digest() string { return s.digest }

// compileTree compiles with a compiler of its own: a second document with the
// same $id in one compiler would get the rules of the first.
func compileTree(doc json.RawMessage, root *node) (*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler().SetAssertFormat(true)
	clear(compiler.Loaders) // http and https are there by default
	_ = root.walk(func(n *node) error {
		// The library fails every instance on a format it does not know.
		if format, ok := n.text("format"); ok && jsonschema.Formats[format] == nil {
			compiler.RegisterFormat(format, func(any) bool { return true })
		}
		return nil
	})
	compiled, err := compiler.Compile(doc)
	if err != nil {
		return nil, &Refusal{Reason: "not a JSON Schema: " + err.Error()}
	}
	if err := link(root, compiled); err != nil {
		return nil, err
	}
	if err := checkResolved(compiled); err != nil {
		return nil, err
	}
	return compiled, nil
}

// checkResolved refuses what the validator left unresolved: it would accept
// every value there.
func checkResolved(compiled *jsonschema.Schema) error {
	if left := compiled.UnresolvedReferenceURIs(); len(left) > 0 {
		return refuse(nil, "reference %q is not resolved", cut(left[0]))
	}
	return nil
}

func (n *node) anySub(keyword string) bool {
	return slices.ContainsFunc(n.subs, func(s sub) bool {
		return s.keyword == keyword || s.to.anySub(keyword)
	})
}
