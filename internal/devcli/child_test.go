package devcli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/devstack/temporalcli"
)

// site is a directory with a home, a cache, a temporary directory and a workspace. Each
// process of the site has its root in its command line, environment or working directory.
type site struct {
	t    *testing.T
	root string
	env  []string
	as   *syscall.Credential
	pawl string
}

func newSite(t *testing.T) *site {
	t.Helper()
	root, err := os.MkdirTemp("", "pawl-cli-test-") // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, root: root}
	t.Cleanup(s.remove)
	if err := os.Chmod(root, 0o711); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"home", "cache", "tmp", "work", "elsewhere"} {
		if err := os.Mkdir(s.path(dir), 0o711); err != nil {
			t.Fatal(err)
		}
	}
	s.write("work/notes.txt", "a pawl keeps a ratchet from slipping back\n")
	temporal, err := temporalcli.Find(t.Context(), temporalcli.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.pawl, err = exec.LookPath("pawl"); err != nil {
		t.Fatal(err)
	}
	s.env = []string{
		"PATH=" + filepath.Dir(temporal) + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"HOME=" + s.path("home"), "XDG_CACHE_HOME=" + s.path("cache"), "TMPDIR=" + s.path("tmp"), "TZ=UTC",
	}
	// The same value as in this process. Without it, the SDK takes slow workflow code for a deadlock.
	if debug := os.Getenv("TEMPORAL_DEBUG"); debug != "" {
		s.env = append(s.env, "TEMPORAL_DEBUG="+debug)
	}
	return s
}

func (s *site) path(name string) string { return filepath.Join(s.root, name) }

func (s *site) write(name, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path(name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// remove kills the processes of the site, which a failed test leaves, and removes its files.
func (s *site) remove() {
	for pid := range s.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	devstacktest.RemoveDevData(s.t, s.root)
}

// processes returns the command lines of the processes of the site, by their pids.
func (s *site) processes() map[int]string {
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		s.t.Fatal(err)
	}
	found := map[int]string{}
	for _, entry := range entries {
		cmdline, err := os.ReadFile(filepath.Join(entry, "cmdline"))
		if err != nil || len(cmdline) == 0 { // ended, or a zombie
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(entry, "environ"))
		cwd, _ := os.Readlink(filepath.Join(entry, "cwd"))
		if strings.Contains(string(cmdline)+string(environ)+cwd, s.root) {
			pid, err := strconv.Atoi(filepath.Base(entry))
			if err != nil {
				s.t.Fatal(err)
			}
			found[pid] = string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '}))
		}
	}
	return found
}

// nothingRuns waits until no process of the site runs.
func (s *site) nothingRuns() {
	s.t.Helper()
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		s.t.Skip("looking for left-over processes needs /proc")
	}
	if err := eventually(s.t.Context(), func() error {
		if found := s.processes(); len(found) > 0 {
			return fmt.Errorf("these run: %v", found)
		}
		return nil
	}); err != nil {
		s.t.Error(err)
	}
}

// child is a running process of pawl.
type child struct {
	s        *site
	cmd      *exec.Cmd
	out, err devstacktest.Log
	done     chan struct{}
}

// start starts pawl in a directory, in a process group of its own.
func (s *site) start(dir string, env []string, args ...string) *child {
	s.t.Helper()
	c := &child{s: s, cmd: exec.Command(s.pawl, args...), done: make(chan struct{})}
	c.cmd.Dir, c.cmd.Env = s.path(dir), slices.Concat(s.env, env)
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.err
	c.cmd.WaitDelay = waitTimeout / 4 // a grandchild that does not end keeps the pipes open
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.as}
	if err := c.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		defer close(c.done)
		_ = c.cmd.Wait()
	}()
	s.t.Cleanup(func() {
		_ = c.signal(syscall.SIGKILL)
		<-c.done
	})
	return c
}

// signal sends a signal to the process group, as Ctrl-C does.
func (c *child) signal(sig syscall.Signal) error {
	select {
	case <-c.done: // the pid may belong to another process now
		return nil
	default:
		return syscall.Kill(-c.cmd.Process.Pid, sig)
	}
}

// ends waits until the process ends, and checks its exit status. It waits long enough for a whole run of chaos.
func (c *child) ends(status int) {
	c.s.t.Helper()
	select {
	case <-c.done:
	case <-time.After(2 * waitTimeout):
		c.s.t.Fatalf("%v does not end\n%s\n%s", c.cmd.Args, c.out.String(), c.err.String())
	}
	if got := c.cmd.ProcessState.ExitCode(); got != status {
		c.s.t.Fatalf("%v ended with status %d (%s), not %d\n%s\n%s", c.cmd.Args, got, c.cmd.ProcessState, status, c.out.String(), c.err.String())
	}
}

// run runs pawl to its end.
func (s *site) run(dir string, env []string, status int, args ...string) (stdout, stderr string) {
	s.t.Helper()
	c := s.start(dir, env, args...)
	c.ends(status)
	return c.out.String(), c.err.String()
}

// says fails unless the text has all of the words.
func (s *site) says(text string, words ...string) {
	s.t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			s.t.Errorf("%q is not in:\n%s", word, text)
		}
	}
}
