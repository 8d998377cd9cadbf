package schema

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// Sent is a document in the form of one target. It is only a hint to a model: arguments are
// validated against the original document.
type Sent struct {
	Document json.RawMessage `json:"document"`
	// Findings list the differences in meaning from the original document. If none is Tightened,
	// every valid call can be made.
	Findings []Finding `json:"findings,omitempty"`
	// Mapping undoes the strict form; nil for other targets.
	Mapping *Mapping `json:"mapping,omitempty"`
}

// Down writes a document for a target. It drops, inlines or replaces what the target does not
// accept, and lists this in findings. The result never refuses what the document accepts, except
// where a finding is Tightened. Fields keep their order. A document that needs no change is
// returned unchanged; a document of a dialect of OpenAPI is written as JSON Schema. Down returns an
// error if the document is not valid, or if it is larger than [jsonschema.MaxDocumentBytes] with
// its references written out.
func Down(doc json.RawMessage, target Target) (*Sent, error) {
	d, known := dialects[target]
	if !known {
		return nil, fmt.Errorf("%q is no target", target)
	}
	if d.strict {
		return strictForm(doc, d)
	}
	root, err := jsonschema.Parse(doc)
	if err != nil {
		return nil, err
	}
	if d.words == nil {
		return downWhole(doc, root, d)
	}
	l := newLowerer(root, d)
	lowered, err := l.document(root)
	if err != nil {
		return nil, err
	}
	return &Sent{Document: lowered, Findings: sortFindings(l.findings)}, nil
}

// downWhole writes for a target that accepts all of JSON Schema below the root.
func downWhole(doc json.RawMessage, root *jsonschema.Node, d dialect) (*Sent, error) {
	if !root.Translated && !slices.ContainsFunc(d.notAtTop, func(keyword string) bool { return root.Object[keyword] != nil }) {
		return &Sent{Document: slices.Clone(doc)}, nil
	}
	return newFlattener(root, d).write()
}
