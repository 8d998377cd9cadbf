//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// workerArg starts this test binary as a worker that runs a script in the workspace of the next argument.
const workerArg = "run-as-worker"

func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == "probe":
		probe(os.Args[1:])
		os.Exit(0)
	case len(os.Args) == 4 && os.Args[1] == workerArg:
		s, err := Open(context.Background(), Options{Workspace: os.Args[2], Without: without()})
		if err == nil {
			_, err = s.Run(context.Background(), capability.Command{Script: os.Args[3], Timeout: time.Hour, MaxOutput: 1 << 20}, os.Stdout)
		}
		if err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// without is what the machine of the test lacks: nothing in CI.
func without() []string {
	if _, err := openCgroups(MaxMemory); err != nil && os.Getenv("CI") == "" {
		return []string{Cgroup}
	}
	return nil
}

// testMemory is the limit of memory in tests, in bytes.
const testMemory = 128 << 20

// workspace returns a directory that does not belong to root, with this program as the file probe.
func workspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, "probe"), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		for _, name := range []string{dir, to.Name()} {
			if err := os.Chown(name, 12345, 12346); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// box opens a sandbox. In CI it must be possible.
func box(t *testing.T, dir string) *Sandbox {
	t.Helper()
	s, err := Open(t.Context(), Options{Workspace: dir, Without: without(), Memory: testMemory})
	if err != nil && os.Getenv("CI") == "" && os.Geteuid() != 0 {
		t.Skip("this machine has no sandbox: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a script that is to end before a minute is over.
func run(t *testing.T, s *Sandbox, c capability.Command) (capability.CommandEnd, string) {
	t.Helper()
	if c.Timeout == 0 {
		c.Timeout = 2 * time.Minute
	}
	if c.MaxOutput == 0 {
		c.MaxOutput = 8 << 20
	}
	var out bytes.Buffer
	end, err := s.Run(t.Context(), c, &out)
	if err != nil {
		t.Fatalf("%.100s: %v\n%.2000s", c.Script, err, out.String())
	}
	return end, out.String()
}

// processesWith returns the ids of processes of the machine with a text in their arguments.
func processesWith(t *testing.T, text string) (pids []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		args, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(args), text) {
			pids = append(pids, filepath.Base(filepath.Dir(name)))
		}
	}
	return pids
}
