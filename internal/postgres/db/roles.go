package db

import (
	"context"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/migrations"
)

// RolesSQL makes the roles of Pawl. An administrator of the server runs it if the user that migrates may not create roles.
//
//go:embed roles/roles.sql
var RolesSQL string

var (
	//go:embed roles/grants.sql
	grantsSQL string
	//go:embed roles/policies.sql
	policiesSQL string
)

// insufficientPrivilege is the SQLSTATE of a statement that the user may not run.
const insufficientPrivilege = "42501"

// CreateRoles makes the roles of Pawl that do not exist, if the user may create roles, and returns the names of the roles that do not exist
// afterwards. Call it before Migrate, so that pawl_migrator owns the tables of an empty database.
func (d *DB) CreateRoles(ctx context.Context) (missing []string, err error) {
	const op = "create roles"
	err = d.onSession(ctx, func(conn *pgx.Conn) error {
		_, err := conn.PgConn().Exec(ctx, RolesSQL).ReadAll()
		return err
	})
	if err = Failure(op, err); err != nil && !isDenied(err) {
		return nil, err
	}
	rows, err := All[roleRow](ctx, d.With(files), op, Query("MissingRoles", Values{}))
	return Column(rows, func(r roleRow) string { return r.Role }), err
}

type roleRow struct{ Role string }

// GrantRoles gives the roles of Pawl their privileges on the tables, and the tables their row-level security. Call it after each
// Migrate, as the user that migrates. It does nothing if a role does not exist, or if the schema is newer than this build: its roles need
// privileges that this build does not know. It waits for locks as Migrate does.
func (d *DB) GrantRoles(ctx context.Context, wait time.Duration) error {
	const op = "grant privileges"
	rows, err := All[roleRow](ctx, d.With(files), op, Query("MissingRoles", Values{}))
	if err != nil || len(rows) > 0 {
		return err
	}
	if have, err := d.schemaVersion(ctx, op); err != nil || have > migrations.Latest() {
		return err
	}
	return d.retryLocks(ctx, op, wait, func() error {
		return d.onSession(ctx, func(conn *pgx.Conn) error {
			// Row-level security comes first: if this stops between the two scripts, nobody sees
			// more rows than before.
			for _, script := range []string{policiesSQL, grantsSQL} {
				if _, err := conn.PgConn().Exec(ctx, script).ReadAll(); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
