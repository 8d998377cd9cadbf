// Package openapicheck tests the import of OpenAPI documents with code that Pawl does not use. It imports
// published documents, and calls each imported tool with made-up arguments. A test server receives the
// requests, and the library getkin/kin-openapi validates each request against the document: the method, the
// path, the query, the headers and the body. The documents come from the module of libopenapi and from the
// flag -documents.
//
// It is a module of its own, so that the validator is no dependency of Pawl. Nothing imports it.
package openapicheck
