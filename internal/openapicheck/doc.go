// Package openapicheck imports published OpenAPI documents and calls each imported tool with made-up
// arguments. A server that others' code validates, getkin/kin-openapi, judges the requests: the method,
// the path, the query, the headers and the body. The documents are those that the module of libopenapi has, and
// those that the flag -documents names.
//
// It is a module of its own, so that the validator is no dependency of Pawl. Nothing imports it.
package openapicheck
