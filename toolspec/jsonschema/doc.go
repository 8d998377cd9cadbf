// Package jsonschema compiles JSON Schema documents of any draft from 04 to 2020-12 and validates
// instances against them (docs/adr/0015). [Node] is the only model of a schema document; all code
// that reads schemas uses it.
//
// It must never fetch anything (no network, no files), never put a value of an instance into a
// message, and never accept a document that it cannot enforce in full. Schema documents and
// instances are both untrusted: every bound is a constant of this package.
//
// Of Pawl it imports only toolspec/strictjson. It is the only importer of
// github.com/kaptinlin/jsonschema, which validates formats. Workflows must not import it.
package jsonschema
