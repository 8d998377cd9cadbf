// Package mcp is the source of the tools of MCP servers: it starts or connects to a server, lists its
// tools, offers them to the worker, and calls them. It is the only user of the MCP SDK,
// except for internal/bench, which compares the two.
//
// A server is hostile until a person has reviewed its tools, and may become so later. The package must
// never trust what a server says about itself: it never enables a tool, never lets a server choose the
// effect, risk or output allowlist, never asks a model or a person for a server, and never puts text of a
// server unchanged into a log line, an error or what a model reads. Memory and time are bounded at every
// step. Only composition roots may import it, and commands
// that need its configuration or FindAuthorization.
package mcp
