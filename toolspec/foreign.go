package toolspec

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
)

// DefineSchema makes a tool whose schemas are documents, such as those of an MCP server or of
// another language: the documents are published as they are, and the arguments and the value of the
// tool are JSON (C-23). For a tool with Go types, [Define] derives the documents from the types.
//
// Both documents are JSON Schemas with an object at the root. They are compiled and checked when
// the tool is registered, by the same rules as derived documents; DefineSchema itself cannot fail.
// A tool without an input document is refused then, unless the definition has AllowNoSchema and a
// NoSchemaMode.
//
// run gets arguments that fit the input document, and must return a value that fits the output
// document. For any other value, the call ends with `output_validation`.
func DefineSchema(
	def Definition, input, output json.RawMessage,
	run func(ctx context.Context, args json.RawMessage, call Call) (json.RawMessage, error),
) Tool {
	return Tool{def: def.clone().withDefaults(), documents: &documents{document(input), document(output)}, run: run}
}

// documents are the schemas of a tool that has no Go types.
type documents struct{ in, out json.RawMessage }

// document returns a copy of doc, and nil if doc is empty or null.
func document(doc json.RawMessage) json.RawMessage {
	if text := bytes.TrimSpace(doc); len(text) == 0 || string(text) == "null" {
		return nil
	}
	return slices.Clone(doc)
}

// Documents returns copies of the schema documents of a tool that [DefineSchema] made. An absent
// document is empty. ok is false for a tool with Go types.
func (t Tool) Documents() (input, output json.RawMessage, ok bool) {
	if t.documents == nil {
		return nil, nil, false
	}
	return slices.Clone(t.documents.in), slices.Clone(t.documents.out), true
}
