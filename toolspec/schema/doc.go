// Package schema derives JSON Schema from Go types, compiles schema documents,
// validates instances against them and projects output schemas to a redaction
// allowlist. It also owns the two questions of JSON itself that digests depend
// on: strict parsing and the RFC 8785 canonical form.
//
// Schemas cross package borders as bytes. The package must never fetch anything
// (no network, no files), never put an instance value into a message, and never
// accept a document that it could not enforce in full. Schema documents and
// instances are both taken as hostile: every bound is a constant of this
// package.
//
// It is the only importer of github.com/invopop/jsonschema and
// github.com/kaptinlin/jsonschema. toolspec/catalog, toolspec/hydrate, hooks
// and the tool sources may import it; workflows must not (digests are the work
// of activities).
package schema
