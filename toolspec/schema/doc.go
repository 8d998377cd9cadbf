// Package schema derives JSON Schema from Go types, compiles schema documents of
// any draft from 04 to 2020-12, validates instances against them, projects output
// schemas to a redaction allowlist, and writes schemas as providers of models
// take them. It also owns the two questions of JSON itself that digests depend
// on: strict parsing and the RFC 8785 canonical form.
//
// Schemas cross package borders as bytes. The package must never fetch anything
// (no network, no files), never put an instance value into a message, and never
// accept a document that it could not enforce in full. Schema documents and
// instances are both taken as hostile: every bound is a constant of this
// package.
//
// It is the only importer of github.com/invopop/jsonschema, which derives, and of
// github.com/kaptinlin/jsonschema, which knows the formats and gives a second
// opinion in tests (docs/adr/0015). toolspec/catalog, toolspec/hydrate, hooks
// and the tool sources may import it; workflows must not (digests are the work
// of activities).
package schema
