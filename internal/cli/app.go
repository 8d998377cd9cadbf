package cli

import (
	"io"

	"github.com/spf13/cobra"

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
	JSON   bool
	tenant string
	// Wrapper speaks with a KMS; nil in a program that has no client of one.
	Wrapper broker.KeyWrapper
	// more makes the commands of Commands.
	more []func(*App) []*cobra.Command
}
