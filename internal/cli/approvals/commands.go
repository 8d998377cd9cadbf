package approvals

import (
	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
)

// Commands returns the commands for approvers.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{newApprovals(a), newApprove(a), newDeny(a), newResolve(a)}
}
