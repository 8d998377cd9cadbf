package tools

import (
	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
)

// Commands returns the command `pawl tools` with its subcommands.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{newTools(a)}
}
