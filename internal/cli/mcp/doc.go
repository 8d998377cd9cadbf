// Package mcp has the command mcp, with which people review the tools that MCP servers offer. It must never
// start or call a server: workers do, and publish what they find. Only `mcp provider` asks a server, without a
// credential.
package mcp
