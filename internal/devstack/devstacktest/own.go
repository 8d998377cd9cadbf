package devstacktest

import (
	"context"
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/internal/devstack"
)

// OwnPostgres starts a server for this test only, which the test may stop. It ends with the test.
func OwnPostgres(t testing.TB) *devstack.Postgres {
	t.Helper()
	server, err := devstack.StartPostgres(t.Context(), devstack.PostgresOptions{Dir: dataDir()})
	return owned(t, server, err)
}

// OwnTemporal starts a server for this test only, which the test may stop or configure. It ends
// with the test.
func OwnTemporal(t testing.TB, o devstack.TemporalOptions) *devstack.Temporal {
	t.Helper()
	server, err := devstack.StartTemporal(t.Context(), o)
	return owned(t, server, err)
}

func owned[S interface{ Stop(context.Context) error }](t testing.TB, server S, err error) S {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return server
}

// FreeAddress returns an address on loopback at which nothing listens now.
func FreeAddress(t testing.TB) string {
	t.Helper()
	port, err := devstack.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint("127.0.0.1:", port)
}
