package schema

import (
	"encoding/json"
	"slices"
)

// Schema is a compiled document. It is immutable and safe for concurrent use;
// compiling costs a fraction of a millisecond and is paid once by its owner.
type Schema struct {
	document  json.RawMessage
	effective json.RawMessage
	open      []Finding
	digest    string
	draft     Draft
	root      *node
	busy      bool // an instance may cost much: its steps are counted
}

// Compile checks and compiles one document of draft-04, 06, 07, 2019-09 or
// 2020-12. $schema names the draft; where it is absent the draft is the newest
// one that knows every keyword of the document, and a document that two drafts
// read differently is refused. It takes input and output schemas alike; input
// schemas must also pass [CheckInput].
//
// It refuses what it could not enforce as written: a root that is not an object
// type, what the meta-schema of the draft forbids, keywords of other drafts,
// words that look like a misspelled keyword, references that leave the document
// or lead nowhere, schemas that refer to themselves in place, nested ids and
// names given twice, dynamic references, patterns that RE2 does not know or
// reads otherwise, and documents beyond [MaxDocumentBytes], [MaxDepth] or the
// bounds on patterns and branches. The error is a [*Refusal]. Unknown formats
// and content keywords other than base64 are annotations, as the specification
// says.
func Compile(doc json.RawMessage, options ...Option) (*Schema, error) {
	effective := doc
	var open []Finding
	if slices.Contains(options, Closed) {
		var err error
		if effective, open, err = Close(doc); err != nil {
			return nil, err
		}
	}
	root, draft, err := analyse(effective)
	if err != nil {
		return nil, err
	}
	digest, err := Digest(effective)
	if err != nil {
		return nil, &Refusal{Reason: err.Error()}
	}
	return &Schema{
		document: slices.Clone(doc), effective: slices.Clone(effective), open: open,
		digest: digest, draft: draft, root: root, busy: root.busy(),
	}, nil
}

// Option changes how a document is compiled.
type Option int

// Closed compiles what [Close] makes of the document, so that unknown argument
// names are refused (C-14).
const Closed Option = 1

// analyse reads a document, checks it against its draft and resolves it.
func analyse(doc json.RawMessage) (*node, Draft, error) {
	root, err := read(doc)
	if err != nil {
		return nil, 0, err
	}
	if err := checkPatterns(root); err != nil {
		return nil, 0, err
	}
	draft, err := detect(root)
	if err != nil {
		return nil, 0, err
	}
	_ = root.walk(func(n *node) error {
		n.draft = draft
		return nil
	})
	if err := resolve(root, draft); err != nil {
		return nil, 0, err
	}
	_ = root.walk(func(n *node) error {
		n.build(draft)
		return nil
	})
	return root, draft, nil
}

// Document returns a copy of the document as it was given.
func (s *Schema) Document() json.RawMessage { return slices.Clone(s.document) }

// Effective returns a copy of the document by which instances are judged, and
// which is to be shown to callers: that of [Schema.Document], unless it was
// compiled [Closed].
func (s *Schema) Effective() json.RawMessage { return slices.Clone(s.effective) }

// Open lists what [Closed] has left open.
func (s *Schema) Open() []Finding { return slices.Clone(s.open) }

// Digest identifies the effective document: lower-case hex SHA-256 of its RFC
// 8785 form.
func (s *Schema) Digest() string { return s.digest }

// Draft is the version of JSON Schema by which the document is read.
func (s *Schema) Draft() Draft { return s.draft }
