package app

import (
	"io"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/worker"
)

// Streams are the input and the outputs of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// App holds the state that all commands share.
type App struct {
	Streams
	// JSON selects JSON instead of text as the output.
	JSON bool
	// Tenant is the tenant that the command acts for.
	Tenant string
	// Worker configures the workers that the program runs.
	Worker []worker.Option
	// Wrapper is the client of a KMS, which decrypts key rings. It is nil in a program without a KMS client.
	Wrapper broker.KeyWrapper
}
