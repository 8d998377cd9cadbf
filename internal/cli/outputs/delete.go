package outputs

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
)

func newDelete(a *app.App) *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use: "delete REF", Short: "Delete a stored output at once, before its time is over",
		Args: app.ExactArgs(1, "REF"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := app.RequireIdentity("--as", by, app.ForAudit); err != nil {
				return err
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				if err := s.Store.DeleteOutput(cmd.Context(), a.Tenant, args[0], by); err != nil {
					return explain(a, args[0], err)
				}
				if a.JSON {
					return app.PrintJSON(a.Out, map[string]any{"tenant": a.Tenant, "ref": args[0], "deleted": true})
				}
				fmt.Fprintf(a.Out, "%s: deleted\n", app.OneLine(args[0], 200))
				return nil
			})
		},
	}
	app.IdentityVar(cmd.Flags(), &by, "as", app.DefaultApprover(), "your identity, for the audit trail (PAWL_APPROVER)")
	return cmd
}
