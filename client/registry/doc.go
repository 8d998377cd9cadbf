// Package registry registers tools for a tenant while workers run: documents of HTTP tools, and MCP servers
// over HTTP. All workers on the database have a change in about a second.
//
// A program that opens a Registry has the credentials of the database, so it registers as an operator does.
// Each method takes a tenant and touches no other tenant. A program that lets its users register asks
// [Registry.MayAdminister] first. Registering allows nothing: policy decides who may call the tools.
//
// It must not run tools. Anybody may import it.
package registry
