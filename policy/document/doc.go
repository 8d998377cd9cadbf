// Package document holds a policy as it is written: the structs of the document, their bounds, and
// Decode, which reads YAML or JSON into them. A fault has its line, column and path. Decode fills
// in every default, so that a stored document keeps its meaning if a later release has other
// defaults. The JSON Schema of the document, docs/schema/policy.schema.json, is generated from
// these structs by internal/docsgen.
//
// A new key of a policy begins here: a field of a struct, and its entry in the decode function of
// that struct.
//
// It must never decide about a call, and it does not read conditions: they are texts here. It
// imports toolspec, policy/authz, policy/strictyaml and policy/suggest. Package policy compiles its documents;
// tools that show documents may import it too.
package document
