package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newMigrate(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "migrate", Short: "Bring the database schema up to this build"}
	cmd.AddCommand(&cobra.Command{
		Use: "up", Short: "Apply what is missing", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := connect(cmd.Context(), false, true)
			if err != nil {
				return err
			}
			defer s.close()
			applied, err := s.store.Migrate(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(a.Out, listed(applied))
			}
			for _, m := range applied {
				fmt.Fprintf(a.Out, "applied %s\n", m.Name)
			}
			if len(applied) == 0 {
				fmt.Fprintln(a.Out, "up to date")
			}
			return nil
		},
	}, &cobra.Command{
		Use: "status", Short: "Show which steps are applied", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := connect(cmd.Context(), false, true)
			if err != nil {
				return err
			}
			defer s.close()
			steps, err := s.store.MigrationStatus(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(a.Out, listed(steps))
			}
			var rows [][]string
			for _, m := range steps {
				at := "pending"
				if !m.AppliedAt.IsZero() {
					at = clockTime(m.AppliedAt)
				}
				rows = append(rows, []string{m.Name, at})
			}
			table(a.Out, "", []string{"STEP", "APPLIED"}, rows)
			return nil
		},
	})
	return group(cmd)
}
