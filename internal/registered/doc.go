// Package registered reads documents that are registered for a tenant: HTTP tools, or one MCP server. It
// must not store or run them. The worker and client/registry import it, so that both accept the same
// documents.
package registered
