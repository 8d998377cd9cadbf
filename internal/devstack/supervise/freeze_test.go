//go:build unix

package supervise_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/supervise"
)

// freezerEnv makes this test binary freeze the process with this id.
const freezerEnv = "SUPERVISE_TEST_FREEZER"

func freeze(pid string) int {
	n, err := strconv.Atoi(pid)
	if err != nil {
		panic(err)
	}
	frozen, err := supervise.Freeze(n)
	if err != nil {
		panic(err)
	}
	defer frozen.Thaw() // it is held until then
	_, _ = os.Stdout.WriteString("frozen\n")
	_, _ = io.Copy(io.Discard, os.Stdin) // until killed
	return 1
}

// sleeper starts a process that does nothing.
func sleeper(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// isStopped reports whether a signal has stopped a process.
func isStopped(pid int) bool {
	out, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.HasPrefix(string(out), "T")
}

// TestFreeze: processes are stopped until Thaw, and a process that has ended is not an error.
func TestFreeze(t *testing.T) {
	one, two := sleeper(t), sleeper(t)
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	frozen, err := supervise.Freeze(one, ended.Process.Pid, two)
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, time.Minute, "they are not stopped", func() bool { return isStopped(one) && isStopped(two) })
	frozen.Thaw()
	waitUntil(t, time.Minute, "they do not go on", func() bool { return !isStopped(one) && !isStopped(two) })
}

// TestFreezeEndsWithItsOwner: frozen processes continue when the process that froze them is killed.
func TestFreezeEndsWithItsOwner(t *testing.T) {
	pid := sleeper(t)
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), freezerEnv+"="+strconv.Itoa(pid))
	if _, err := owner.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, time.Minute, "it is not stopped", func() bool { return isStopped(pid) })
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	waitUntil(t, time.Minute, "it does not go on", func() bool { return !isStopped(pid) })
}
