package postgrestest

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

// Database returns the URL of a fresh database with the schema and the roles of this build, on the shared server of the test binary. The database is
// dropped when the test ends.
func Database(t testing.TB) string {
	t.Helper()
	return devstacktest.PostgresFrom(t, func(ctx context.Context, url string) error {
		d, err := db.Open(ctx, url, db.Options{MaxConns: 2})
		if err != nil {
			return err
		}
		defer d.Close()
		if _, err := d.CreateRoles(ctx); err != nil {
			return err
		}
		if _, err = d.Migrate(ctx); err != nil {
			return err
		}
		if err := d.GrantRoles(ctx, 0); err != nil {
			return err
		}
		// The databases of tests are copies of one database, and a worker refuses to run on a copy.
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, `DELETE FROM database_origin`)
		return errors.Join(err, conn.Close(ctx))
	})
}
