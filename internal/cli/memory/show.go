package memory

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
)

func newShow(a *app.App) *cobra.Command {
	var of sessionFlags
	cmd := &cobra.Command{
		Use: "show PATH", Short: "Print an entry of a session",
		Long: "Print the content of an entry, without characters that could control the terminal. --json adds who wrote it, when and\n" +
			"by what call.",
		Args: app.ExactArgs(1, "PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			session, err := of.required()
			if err != nil {
				return err
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				e, err := s.Store.ShowMemory(cmd.Context(), a.Tenant, session, args[0])
				if err != nil {
					return explain(a, session, args[0], err)
				}
				if a.JSON {
					return app.PrintJSON(a.Out, e)
				}
				if e.Title != "" {
					fmt.Fprintln(a.Out, app.OneLine(e.Title, 200))
				}
				fmt.Fprintln(a.Out, app.Printable(e.Content))
				return nil
			})
		},
	}
	of.register(cmd)
	return cmd
}
