package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/postgres"
)

func newMigrate(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: "migrate", Short: "Bring the database schema up to this build"}
	cmd.AddCommand(&cobra.Command{
		Use: "up", Short: "Apply what is missing", Args: ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd.Context(), func(s *session) error {
				applied, err := s.store.Migrate(cmd.Context())
				if err != nil {
					return err
				}
				return listing(a, applied, "up to date", func(applied []postgres.Migration) {
					for _, m := range applied {
						fmt.Fprintf(a.Out, "applied %s\n", m.Name)
					}
				})
			})
		},
	}, &cobra.Command{
		Use: "status", Short: "Show which steps are applied", Args: ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd.Context(), func(s *session) error {
				steps, err := s.store.MigrationStatus(cmd.Context())
				if err != nil {
					return err
				}
				return tabled(a, steps, "this build has no steps", []string{"STEP", "APPLIED"}, func(m postgres.Migration) []string {
					at := "pending"
					if !m.AppliedAt.IsZero() {
						at = clockTime(m.AppliedAt)
					}
					return []string{m.Name, at}
				})
			})
		},
	})
	return group(cmd)
}
