//go:build unix

package devstack_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// startOwner starts a program that owns a stack, in its own process group as a shell does, and waits for its servers.
func startOwner(t *testing.T, dir string) (cmd *exec.Cmd, stack owned, stderr *bytes.Buffer) {
	t.Helper()
	cmd, stderr = exec.Command(os.Args[0]), new(bytes.Buffer)
	cmd.Env = append(os.Environ(), ownerEnv+"=yes", "TMPDIR="+dir)
	cmd.Stderr = stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(stdout).Decode(&stack); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("the owner did not start: %v\n%s", err, stderr)
	}
	return cmd, stack, stderr
}

func TestAKilledOwnerLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	owner, stack, _ := startOwner(t, dir)
	execute(t, stack.Database, `CREATE TABLE busy (id int)`)
	if len(processesOf(t, dir)) < 5 { // the owner, two servers and two guards: the search finds them
		t.Errorf("too few processes to be sure: %q", processesOf(t, dir))
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	eventually(t, nothingRuns(t, dir))
	wantEmpty(t, dir)
}

func TestCtrlCStopsEverythingInOrder(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	owner, _, stderr := startOwner(t, dir)
	// Like a terminal, send the signal to the whole foreground group.
	if err := syscall.Kill(-owner.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := owner.Wait(); err != nil {
		t.Errorf("the owner ended with %v", err)
	}
	if stderr.Len() != 0 {
		t.Errorf("it printed: %s", stderr)
	}
	if left := processesOf(t, dir); len(left) != 0 {
		t.Errorf("still running: %q", left)
	}
	wantEmpty(t, dir)
}
