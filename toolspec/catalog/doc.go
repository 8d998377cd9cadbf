// Package catalog binds tools: it derives and compiles their schemas, checks every rule of the
// contract, gives each tool only the capabilities that it declares, and keeps the tools by id. A
// catalog is the part of them that a caller may see, and finds the tools that fit a request.
//
// It never runs a tool and never decides whether a call may run. Activities and the composition
// root import it.
package catalog
