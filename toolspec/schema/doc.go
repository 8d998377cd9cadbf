// Package schema creates the schemas of tools: it derives JSON Schema from Go types, refuses names
// that no caller may send, closes documents, projects output schemas to a redaction allowlist, and
// writes schemas in the forms that providers of models accept.
//
// Other packages exchange schemas as bytes. toolspec/jsonschema parses and evaluates them. This
// package never evaluates an instance, except for values that a schema lists, and never fetches
// anything.
//
// It imports github.com/invopop/jsonschema to derive schemas (internal/docsgen does too).
// toolspec/catalog, toolspec/hydrate, hooks and the tool sources may import it; workflows must not,
// because activities compute digests.
package schema
