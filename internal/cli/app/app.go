package app

import (
	"io"

	"github.com/pawl-run/pawl/broker"
)

// Streams are where a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// App is what every command shares.
type App struct {
	Streams
	// JSON says that the command prints JSON.
	JSON bool
	// Tenant is the one that the command is for.
	Tenant string
	// Wrapper speaks with a KMS; nil in a program that has no client of one.
	Wrapper broker.KeyWrapper
}
