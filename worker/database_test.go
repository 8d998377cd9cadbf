package worker

import (
	"context"
	"fmt"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
)

func passwordOf(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	password, ok := u.User.Password()
	if !ok || password == "" {
		t.Fatal("the database has no password")
	}
	return password
}

// noConnections returns an error while the application has connections to the database.
func noConnections(t *testing.T, database, application string) error {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	var open int
	if err := conn.QueryRow(t.Context(),
		`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1`, application).Scan(&open); err != nil {
		t.Fatal(err)
	}
	if open > 0 {
		return fmt.Errorf("%d are open", open)
	}
	return nil
}
