// Package httptool makes tools of data: a document describes the request that a tool sends, and what
// the tool takes of the response.
//
// A document never chooses the host that a credential goes to: the connection of the call does. The
// values of arguments stay in the place that the document gives them: one segment of the path, one
// parameter, one header, one cookie, the body. The package holds no client: it takes one from
// the capability clients or public_http of the call. It must never read a file or keep a credential.
//
// internal/openapi, the worker and the CLI import it.
package httptool
