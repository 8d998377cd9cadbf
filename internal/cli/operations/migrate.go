package operations

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
)

func newMigrate(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "migrate", Short: "Migrate the database schema to the version of this program"}
	cmd.AddCommand(&cobra.Command{
		Use: "up", Short: "Apply the missing migrations", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				applied, err := s.Store.Migrate(cmd.Context())
				if err != nil {
					return err
				}
				return app.PrintList(a, applied, "up to date", func(applied []postgres.Migration) {
					for _, m := range applied {
						fmt.Fprintf(a.Out, "applied %s\n", m.Name)
					}
				})
			})
		},
	}, &cobra.Command{
		Use: "status", Short: "Show which migrations are applied", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				steps, err := s.Store.MigrationStatus(cmd.Context())
				if err != nil {
					return err
				}
				return app.PrintRows(a, steps, "this build has no steps", []string{"STEP", "APPLIED"}, func(m postgres.Migration) []string {
					at := "pending"
					if !m.AppliedAt.IsZero() {
						at = app.FormatTime(m.AppliedAt)
					}
					return []string{m.Name, at}
				})
			})
		},
	})
	return app.Group(cmd)
}
