//go:build unix

package supervise_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/internal/devstack/supervise"
)

// ownerEnv makes this test binary the owner of a guarded process. Its value is a directory for the guard to remove, and the shell script to
// guard.
const ownerEnv = "SUPERVISE_TEST_OWNER"

func TestMain(m *testing.M) {
	if job := os.Getenv(ownerEnv); job != "" {
		os.Exit(own(job))
	}
	if pid := os.Getenv(freezerEnv); pid != "" {
		os.Exit(freeze(pid))
	}
	goleak.VerifyTestMain(m)
}

func own(job string) int {
	dir, script, _ := strings.Cut(job, "\n")
	guard, err := supervise.NewGuard(supervise.GuardOptions{Remove: []string{dir}})
	if err != nil {
		panic(err)
	}
	_, err = guard.Start(supervise.Command{Path: "/bin/sh", Args: []string{"-c", script}, Dir: dir, Env: os.Environ(), Output: os.Stdout, Group: true})
	if err != nil {
		panic(err)
	}
	select {} // until killed
}

func TestAKilledOwnersProcessesEndAndItsDirectoryGoes(t *testing.T) {
	for name, script := range map[string]string{
		"obedient": `echo $$; while :; do sleep 0.05; done`,
		// A process that ignores every signal except SIGKILL, with a child that ignores them too.
		"stubborn": `trap '' TERM QUIT INT; echo $$; (while :; do sleep 0.05; done) & while :; do sleep 0.05; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "a name with spaces; and 'quotes'")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			owner := exec.Command(os.Args[0])
			owner.Env = append(os.Environ(), ownerEnv+"="+dir+"\n"+script)
			stdout, err := owner.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := owner.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(stdout).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			group, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			if err := owner.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = owner.Wait()
			waitUntil(t, time.Minute, "the directory still exists", func() bool {
				_, err := os.Stat(dir)
				return os.IsNotExist(err)
			})
			waitUntil(t, time.Minute, "the process group still lives", func() bool { return !groupRuns(group) })
		})
	}
}

// groupRuns reports whether a process of the group runs. It ignores zombies, because a container may have no process that reaps them.
func groupRuns(group int) bool {
	if syscall.Kill(-group, 0) != nil {
		return false
	}
	listing, err := exec.Command("ps", "-A", "-o", "pgid=,stat=").Output()
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(listing)) {
		fields := strings.Fields(line)
		if len(fields) == 2 && fields[0] == strconv.Itoa(group) && !strings.HasPrefix(fields[1], "Z") {
			return true
		}
	}
	return false
}

func waitUntil(t *testing.T, timeout time.Duration, complaint string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(timeout); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("after %s: %s", timeout, complaint)
		}
	}
}

func TestCloseTouchesNothing(t *testing.T) {
	dir := t.TempDir()
	guard, err := supervise.NewGuard(supervise.GuardOptions{Remove: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := guard.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	if _, err := guard.Start(supervise.Command{Path: "/bin/sh", Args: []string{"-c", "exit"}}); err == nil {
		t.Error("a closed guard has started a process")
	}
}

func TestStopEscalatesAndHurries(t *testing.T) {
	guard, err := supervise.NewGuard(supervise.GuardOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	unresponsive, err := guard.Start(supervise.Command{
		Path: "/bin/sh", Args: []string{"-c", `trap '' TERM; echo ready; while :; do sleep 0.05; done`}, Env: os.Environ(), Output: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, time.Minute, "it never got ready", func() bool {
		text, err := os.ReadFile(log.Name())
		return err == nil && len(text) > 0
	})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	started := time.Now()
	unresponsive.Stop(ended, supervise.Step{Signal: supervise.Terminate, Wait: time.Hour})
	if took := time.Since(started); took > time.Minute {
		t.Errorf("a hurried stop took %s", took)
	}
	if unresponsive.Err() == nil {
		t.Error("a killed process has no error")
	}
	unresponsive.Stop(t.Context()) // does nothing for a process that has ended
}

func TestAProgramThatCannotRunEndsBadly(t *testing.T) {
	guard, err := supervise.NewGuard(supervise.GuardOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close()
	process, err := guard.Start(supervise.Command{Path: "/no/such/program"})
	if err != nil {
		t.Fatal(err)
	}
	<-process.Done()
	if process.Err() == nil {
		t.Error("a missing program has no error")
	}
}
