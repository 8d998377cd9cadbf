package devcli

import (
	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli"
)

// app is the state that the commands share.
type app struct{ *cli.App }

// Commands returns the option that adds the commands for development.
func Commands() cli.Option {
	return cli.Commands(func(shared *cli.App) []*cobra.Command {
		a := app{shared}
		return []*cobra.Command{
			newDemo(a), newDemoWorker(a), newChaos(a), newChaosWorker(a), newBench(a), newBenchSubmit(a), newBenchWorker(a), newDev(a),
		}
	})
}
