package source

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
)

// Source is a place from which a worker has tools: its own program, an MCP server, a table of
// registrations. Tools may come and go while the worker runs.
type Source interface {
	// Info returns the same values at every call.
	Info() Info
	// Run calls offer as soon as the source knows its tools, and again when the tools or the health of
	// the source change. It returns when ctx ends, and has closed everything that it opened. If it
	// returns earlier, its last offer stays in force and the worker is degraded. After an error or a
	// panic, the worker calls Run again, with growing pauses. Two runs never overlap.
	//
	// offer is safe for concurrent use and does not block. An offer after Run returned has no effect.
	Run(ctx context.Context, offer func(Offer)) error
}

// Info describes a source in lists and logs.
type Info struct {
	// Kind is one of the kinds below. Sources start in the order of their kinds.
	Kind Kind
	// Name is unique among the sources of a kind in one worker, such as the id of an MCP server. It is
	// empty if there is only one source of the kind. It has at most 64 characters of a-z, A-Z, 0-9, '_' and '-'.
	Name string
}

// Kind says what a source is.
type Kind string

// The kinds of sources, in the order in which a worker starts them (RG-06, RG-07).
const (
	// Builtin are the tools of package tools.
	Builtin Kind = "builtin"
	// Worker are the tools that a program gives to its worker (worker.Tools).
	Worker Kind = "worker"
	// MCP is a server that speaks the Model Context Protocol.
	MCP Kind = "mcp"
	// HTTP are tools that are data: requests to a service.
	HTTP Kind = "http"
	// Remote are tools that run in processes of other programs, of any language.
	Remote Kind = "remote"
	// Registered are the tools that are registered in the database, each for one tenant.
	Registered Kind = "registered"
	// Extension is a source that a program gives to its worker (worker.Sources).
	Extension Kind = "extension"
)

// Offer is all that a source has at one time. It replaces the offer before it.
type Offer struct {
	// Tools are all tools of the source. A tool that breaks a rule of the contract is left out, and so is
	// a tool with an id of another source; the others are not affected.
	Tools []toolspec.Tool
	// Earlier are definitions that Tools had before, of tools that have changed or are gone. Only calls that
	// were admitted with exactly such a definition get it. An earlier definition that breaks a rule is left out
	// without a report.
	Earlier []toolspec.Tool
	// Fault says in one sentence why the source does not work as it should. It is empty if it does.
	// Operators read it: it holds no secret and no text that a server sent.
	Fault string
}
