package keys

import (
	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
)

// Commands returns the commands for keys.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{newKeys(a), newSubmitters(a), newKeyring(a)}
}
