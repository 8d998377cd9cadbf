package memory

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec/capability"
)

func newDelete(a *app.App) *cobra.Command {
	var of sessionFlags
	var by string
	var all bool
	cmd := &cobra.Command{
		Use: "delete PATH | --all", Short: "Delete an entry of a session, of whatever kind, or all its entries",
		Args: func(cmd *cobra.Command, args []string) error {
			if all {
				return app.ExactArgs(0, "no PATH with --all")(cmd, args)
			}
			return app.ExactArgs(1, "PATH, or --all")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			session, err := of.required()
			if err != nil {
				return err
			}
			if err := app.RequireIdentity("--as", by, "which is kept with the change"); err != nil {
				return err
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				if all {
					return deleteAll(cmd, a, s, session, by)
				}
				e, err := s.Store.DeleteMemory(cmd.Context(), a.Tenant, session, args[0], by)
				if err != nil {
					return explain(a, session, args[0], err)
				}
				if a.JSON {
					return app.PrintJSON(a.Out, map[string]any{"tenant": a.Tenant, "session": session, "path": e.Path, "deleted": true})
				}
				fmt.Fprintf(a.Out, "%s: deleted\n", app.OneLine(e.Path, 300))
				return nil
			})
		},
	}
	of.register(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "delete all entries of the session or of the run")
	app.IdentityVar(cmd.Flags(), &by, "as", app.DefaultApprover(), "your identity, for the audit trail (PAWL_APPROVER)")
	return cmd
}

func deleteAll(cmd *cobra.Command, a *app.App, s *app.Session, session, by string) error {
	entries, err := s.Store.DeleteSessionMemory(cmd.Context(), a.Tenant, session, by)
	if errors.Is(err, capability.ErrNoMemory) {
		return fmt.Errorf("tenant %s has no entries in %s; `pawl memory list` shows the entries", a.Tenant, app.OneLine(session, 100))
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return app.PrintJSON(a.Out, map[string]any{"tenant": a.Tenant, "session": session, "entries": entries, "deleted": true})
	}
	fmt.Fprintf(a.Out, "%s: entries deleted: %d\n", app.OneLine(session, 100), entries)
	return nil
}
