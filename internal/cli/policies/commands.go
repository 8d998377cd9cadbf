package policies

import (
	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
)

// Commands returns the commands that control which calls may run.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{newPolicy(a), newRelations(a), newKill(a)}
}
