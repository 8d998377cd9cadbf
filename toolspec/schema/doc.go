// Package schema makes the schemas of tools: it derives JSON Schema from Go types,
// refuses names that no caller may send, closes documents, projects output schemas
// to a redaction allowlist, and writes schemas as providers of models take them.
//
// Schemas cross package borders as bytes. toolspec/jsonschema reads and judges them;
// this package never judges an instance, and never fetches anything.
//
// It imports github.com/invopop/jsonschema, which derives (internal/docsgen does too).
// toolspec/catalog, toolspec/hydrate, hooks and the tool sources may import it;
// workflows must not (digests are the work of activities).
package schema
