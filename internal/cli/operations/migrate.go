package operations

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
)

func newMigrate(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "migrate", Short: "Migrate the database schema to the version of this program"}
	wait := postgres.LockWait
	up := &cobra.Command{
		Use: "up", Short: "Apply the missing migrations, and give the roles of Pawl their privileges", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error { return migrateUp(cmd.Context(), a, s.Store, wait) })
		},
	}
	up.Flags().DurationVar(&wait, "wait", wait, "how long to try to get the locks of tables")
	cmd.AddCommand(up, &cobra.Command{
		Use: "roles", Short: "Print the SQL that makes the roles of Pawl, for an administrator of the database server", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(a.Out, postgres.RolesSQL)
			return err
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

// migrateUp makes the roles, applies the migrations, and grants the roles their privileges. A database user who may
// not make roles gets the migrations, which is enough for workers to run, and a message that says how to make the
// roles.
func migrateUp(ctx context.Context, a *app.App, store *postgres.Store, wait time.Duration) error {
	missing, err := store.CreateRoles(ctx)
	if err != nil {
		return err
	}
	applied, err := store.MigrateWithin(ctx, wait)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		fmt.Fprintf(a.Err, "the database lacks the roles %s, and this user may not make them: as an administrator of the server, run "+
			"`pawl migrate roles | psql`, and then `pawl migrate up` again\n", strings.Join(missing, ", "))
	} else if err := store.GrantRoles(ctx, wait); err != nil {
		return err
	}
	return app.PrintList(a, applied, "up to date", func(applied []postgres.Migration) {
		for _, m := range applied {
			fmt.Fprintf(a.Out, "applied %s\n", m.Name)
		}
	})
}
