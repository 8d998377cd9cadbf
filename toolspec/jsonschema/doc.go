// Package jsonschema compiles JSON Schema documents of any draft from 04 to 2020-12
// and validates instances against them (docs/adr/0015). Its [Node] is the one model
// of a document, for all that read schemas.
//
// It must never fetch anything (no network, no files), never put an instance value
// into a message, and never accept a document that it could not enforce in full.
// Schema documents and instances are both taken as hostile: every bound is a
// constant of this package.
//
// It imports nothing of Pawl but toolspec/strictjson, and is the only importer of
// github.com/kaptinlin/jsonschema, which knows the formats. Workflows must not import
// it.
package jsonschema
