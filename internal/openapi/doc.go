// Package openapi makes documents of toolspec/httptool from OpenAPI documents: Swagger 2.0, OpenAPI 3.0
// and 3.1. A report names the parts that it cannot map.
//
// It reads one document and nothing else: it never connects to a network, follows no reference out of
// the document, and runs no tool.
package openapi
