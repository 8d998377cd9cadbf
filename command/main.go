package command

import (
	"os"
	"path/filepath"

	"github.com/pawl-run/pawl/internal/cli"
	"github.com/pawl-run/pawl/worker"
)

// Main runs the command that the arguments of the program name, and returns the exit status. The command
// worker runs a worker with the options. Without arguments Main prints the list of commands. Main
// ends the command at SIGINT or SIGTERM, and the program at a second signal.
func Main(options ...worker.Option) int {
	return cli.Program(cli.Name(filepath.Base(os.Args[0])), cli.Worker(options...))
}
