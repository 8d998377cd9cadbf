package devstack

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTheNextStartSweepsWhatTheDeadLeft(t *testing.T) {
	parent := t.TempDir()
	dead := filepath.Join(parent, "pawl-thing-dead")
	if err := os.MkdirAll(filepath.Join(dead, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	young, old := filepath.Join(parent, newPrefix+"young"), filepath.Join(parent, newPrefix+"old")
	for _, dir := range []string{young, old} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	longAgo := time.Now().Add(-2 * orphanAge)
	if err := os.Chtimes(old, longAgo, longAgo); err != nil {
		t.Fatal(err)
	}
	living, err := openHome(t.Context(), "thing", parent, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	next, err := openHome(t.Context(), "thing", parent, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{dead: false, old: false, young: true, living.dir: true, next.dir: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s exists: %t, want %t", filepath.Base(dir), err == nil, want)
		}
	}
	for _, h := range []*home{living, next} {
		if err := h.close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(h.dir); err == nil {
			t.Errorf("%s is still there", h.dir)
		}
	}
}

// TestASweepDoesNotDisturbWhoEnds: a sweep does not disturb the deletion of a directory.
func TestASweepDoesNotDisturbWhoEnds(t *testing.T) {
	parent, ended := t.TempDir(), make(chan struct{})
	var sweeps sync.WaitGroup
	for range 2 {
		sweeps.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
					sweep(parent, "thing")
				}
			}
		})
	}
	for range 60 {
		h, err := openHome(t.Context(), "thing", parent, false, nil)
		if err != nil {
			t.Error(err)
			break
		}
		for _, name := range []string{"a", "b", "c", "d", "z"} {
			if err := os.MkdirAll(h.path(filepath.Join(name, "deep", "er")), 0o700); err != nil {
				t.Error(err)
			}
		}
		if err := h.close(); err != nil {
			t.Error(err)
			break
		}
	}
	close(ended)
	sweeps.Wait()
}

func TestKeepingDataNeedsADirectory(t *testing.T) {
	if _, err := openHome(t.Context(), "thing", "", true, nil); err == nil {
		t.Error("data was kept without a directory")
	}
	if _, err := Start(t.Context(), Options{Persist: true}); err == nil {
		t.Error("data was kept without a directory")
	}
}

func TestAPublicDirectoryOfAnotherIsRefused(t *testing.T) {
	account, err := postgresAccount()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	if err := makeFor(account, dir); err != nil {
		t.Fatal(err)
	}
	if err := makeFor(account, dir); err != nil {
		t.Errorf("its own directory: %v", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := makeFor(account, dir); err == nil {
		t.Error("a directory that others can read was accepted")
	}
	link := dir + "-link"
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	if err := makeFor(account, link); err == nil {
		t.Error("a symbolic link was followed")
	}
}

func TestATakenPortIsRecognised(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	taken := listener.Addr().(*net.TCPAddr).Port

	postgres, err := StartPostgres(t.Context(), PostgresOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stopAll(t, postgres)
	postgres.stop(t.Context())
	postgres.port = taken
	if err := postgres.serve(t.Context()); !errors.Is(err, errPortTaken) {
		t.Errorf("Postgres on a taken port: %v", err)
	}

	temporal, err := StartTemporal(t.Context(), TemporalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stopAll(t, temporal)
	temporal.stop(t.Context())
	temporal.port = taken
	if err := temporal.serve(t.Context()); !errors.Is(err, errPortTaken) {
		t.Errorf("Temporal on a taken port: %v", err)
	}
}

func stopAll(t *testing.T, server interface{ Stop(context.Context) error }) {
	t.Helper()
	if err := server.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

func TestPostgresIsFoundOrTheCommandToInstallItIs(t *testing.T) {
	found, err := findPostgres(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := findPostgres(t.Context(), found.major); err != nil || again.major != found.major {
		t.Errorf("version %d: %+v, %v", found.major, again, err)
	}
	if _, err := findPostgres(t.Context(), 9); err == nil || !strings.Contains(err.Error(), "install Postgres 9") {
		t.Errorf("version 9: %v", err)
	}
	if versionIn("/usr/lib/postgresql/17/bin") != 17 || versionIn("/opt/homebrew/opt/postgresql@16/bin") != 16 || versionIn("/usr/pgsql-15/bin") != 15 {
		t.Error("versionIn does not read versions from paths")
	}
}
