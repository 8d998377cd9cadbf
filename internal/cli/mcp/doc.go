// Package mcp has the command mcp, with which people review the tools that MCP servers offer. It must never
// connect to a server: workers do, and publish what they find.
package mcp
