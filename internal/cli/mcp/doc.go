// Package mcp has the command mcp, with which people review the tools that MCP servers offer. It must never
// start a server or call its tools: workers find the tools and publish them. Only `mcp provider` sends a request
// to a server, without a credential.
package mcp
