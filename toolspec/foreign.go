package toolspec

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
)

// DefineSchema makes a tool whose schemas are documents, such as those of an MCP
// server or of another language: the documents are the one source, published as
// they are, and what the tool takes and gives is JSON (C-23). Where Go types
// exist, [Define] derives the documents from them instead.
//
// Both documents are JSON Schemas with an object at the root. They are compiled
// and checked when the tool is registered, by the same rules as derived ones;
// DefineSchema itself cannot fail. No input document at all is refused there,
// unless the definition says AllowNoSchema and a NoSchemaMode.
//
// run gets arguments that fit the input document, and must return a value that
// fits the output document: what does not is `output_validation`.
func DefineSchema(
	def Definition, input, output json.RawMessage,
	run func(ctx context.Context, args json.RawMessage, call Call) (json.RawMessage, error),
) Tool {
	return Tool{def: def.clone().withDefaults(), documents: &documents{document(input), document(output)}, run: run}
}

// documents are the schemas of a tool that has no Go types.
type documents struct{ in, out json.RawMessage }

// document copies what is given; null is none.
func document(doc json.RawMessage) json.RawMessage {
	if text := bytes.TrimSpace(doc); len(text) == 0 || string(text) == "null" {
		return nil
	}
	return slices.Clone(doc)
}

// Documents returns copies of the schema documents of a tool made by
// [DefineSchema], an absent one empty; false for one with Go types.
func (t Tool) Documents() (input, output json.RawMessage, ok bool) {
	if t.documents == nil {
		return nil, nil, false
	}
	return slices.Clone(t.documents.in), slices.Clone(t.documents.out), true
}
