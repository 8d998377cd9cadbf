package pages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/devstack/temporalcli"
)

// waitTimeout is how long a page may take on a busy machine.
const waitTimeout = 4 * time.Minute

// site has the directories of a user for one page: a home, a cache, a temporary directory and a working directory.
type site struct {
	t    *testing.T
	root string
	env  []string
}

func newSite(t *testing.T, programs string) *site {
	t.Helper()
	dir, err := os.MkdirTemp("", "pawl-pages-test-") // the user that runs Postgres cannot read t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, root: dir}
	t.Cleanup(func() { devstacktest.RemoveDevData(t, dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	for _, below := range []string{"bin", "home", "cache", "tmp", "work"} {
		if err := os.Mkdir(filepath.Join(dir, below), 0o711); err != nil {
			t.Fatal(err)
		}
	}
	temporal, err := temporalcli.Find(t.Context(), temporalcli.Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	path := []string{filepath.Join(dir, "bin"), programs, filepath.Dir(temporal), postgresPrograms(t), os.Getenv("PATH")}
	s.env = []string{
		"PATH=" + strings.Join(path, string(filepath.ListSeparator)), "HOME=" + filepath.Join(dir, "home"), "GOBIN=" + filepath.Join(dir, "bin"),
		"XDG_CACHE_HOME=" + filepath.Join(dir, "cache"), "TMPDIR=" + filepath.Join(dir, "tmp"), "TZ=UTC", "CHECKOUT=" + checkout,
	}
	// The compiler uses its caches of the user, because a new home has none.
	names := []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOTOOLCHAIN", "GOFLAGS"}
	values, err := exec.CommandContext(t.Context(), "go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, value := range strings.Split(strings.TrimSuffix(string(values), "\n"), "\n") {
		s.env = append(s.env, names[i]+"="+value)
	}
	return s
}

// postgresPrograms returns the directory of the programs of Postgres, which Debian does not put on PATH.
func postgresPrograms(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_restore")
	if path, lookErr := exec.LookPath("pg_restore"); err == nil && len(found) == 0 && lookErr == nil {
		found = []string{path}
	}
	if err != nil || len(found) == 0 {
		t.Fatalf("the pages use the programs of Postgres: pg_restore is not here: %v", err)
	}
	return filepath.Dir(found[len(found)-1])
}

// run runs a script with bash in the working directory, and then ends the programs that the script has left running.
func (s *site) run(script string) error {
	ctx, cancel := context.WithTimeout(s.t.Context(), waitTimeout)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = filepath.Join(s.root, "work"), s.env, &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// A program that the script has left running may keep the output open.
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	if cmd.Process != nil {
		err = errors.Join(err, s.end(-cmd.Process.Pid))
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out.String())
	}
	return nil
}

// end ends a process group, and waits until no process of it is left.
func (s *site) end(group int) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for err := syscall.Kill(group, syscall.SIGTERM); err == nil; err = syscall.Kill(group, 0) {
		select {
		case <-deadline:
			return errors.Join(errors.New("its programs do not end"), syscall.Kill(group, syscall.SIGKILL))
		case <-tick.C:
		}
	}
	return nil
}
