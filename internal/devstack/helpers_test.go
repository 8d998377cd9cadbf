package devstack_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/pawl-run/pawl/internal/devstack"
)

const (
	waitTimeout = 90 * time.Second
	tick        = 20 * time.Millisecond
)

// scratch returns a temporary directory that every user can traverse, unlike t.TempDir, and that only this test uses, so that processesOf
// finds the servers of the test.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "devstack-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// processesOf returns the processes whose command line, working directory or environment contains dir. It needs /proc.
func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("looking for left-over processes needs /proc")
	}
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range entries {
		cmdline, err := os.ReadFile(filepath.Join(entry, "cmdline"))
		if err != nil || len(cmdline) == 0 { // the process has ended or is a zombie
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(entry, "environ"))
		cwd, _ := os.Readlink(filepath.Join(entry, "cwd"))
		if strings.Contains(string(cmdline)+string(environ)+cwd, dir) {
			found = append(found, filepath.Base(entry)+" "+string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// eventually waits until complaint returns "". complaint describes what is still wrong.
func eventually(t *testing.T, complaint func() string) {
	t.Helper()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for deadline := time.Now().Add(waitTimeout); ; <-ticker.C {
		wrong := complaint()
		if wrong == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s: %s", waitTimeout, wrong)
		}
	}
}

func nothingRuns(t *testing.T, dir string) func() string {
	return func() string { return strings.Join(processesOf(t, dir), "\n") }
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		t.Errorf("%s is left", filepath.Join(dir, entry.Name()))
	}
}

func startPostgres(t *testing.T, o devstack.PostgresOptions) *devstack.Postgres {
	t.Helper()
	p, err := devstack.StartPostgres(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, p) })
	return p
}

func startTemporal(t *testing.T, o devstack.TemporalOptions) *devstack.Temporal {
	t.Helper()
	s, err := devstack.StartTemporal(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func startStack(t *testing.T, o devstack.Options) *devstack.Stack {
	t.Helper()
	s, err := devstack.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, server interface{ Stop(context.Context) error }) {
	t.Helper()
	if err := server.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) }) // the server may have stopped
	return conn
}

func execute(t *testing.T, url, sql string) {
	t.Helper()
	if _, err := connect(t, url).Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func dial(t *testing.T, address string) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{
		HostPort: address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
