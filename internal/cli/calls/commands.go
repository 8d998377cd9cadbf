package calls

import (
	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
)

// Commands returns the commands that start calls and show them.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{newInvoke(a), newTurn(a), newShow(a), newList(a), newWatch(a)}
}
