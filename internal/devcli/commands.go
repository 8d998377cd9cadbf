package devcli

import (
	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli"
	"github.com/pawl-run/pawl/internal/cli/app"
)

// devApp is the state that the commands share.
type devApp struct{ *app.App }

// Commands returns the option that adds the commands for development.
func Commands() cli.Option {
	return cli.Commands(commands)
}

func commands(shared *app.App) []*cobra.Command {
	a := devApp{shared}
	return []*cobra.Command{
		newDemo(a), newDemoWorker(a), newChaos(a), newChaosWorker(a), newLoad(a), newBench(a), newBenchSubmit(a), newBenchWorker(a), newDev(a),
	}
}
