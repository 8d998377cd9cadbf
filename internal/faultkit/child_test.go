//go:build unix

package faultkit_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/faultkit/failpoint"
	// The children are built from package worker. The import makes go test rerun these tests when
	// it changes.
	_ "github.com/pawl-run/pawl/worker"
)

// built is the program of the children. The test binary builds it once.
var built struct {
	once sync.Once
	path string
	err  error
}

// faultworker returns the path of the program.
func faultworker(t *testing.T) string {
	t.Helper()
	built.once.Do(func() { built.path, built.err = build() })
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// build builds the program. TestMain removes its directory, because all tests use it.
func build() (string, error) {
	tool, err := exec.LookPath("go")
	if err != nil {
		return "", errors.New("the fault tests build internal/faultkit/faultworker; put the go tool on PATH")
	}
	dir, err := os.MkdirTemp("", "pawl-faultworker-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "faultworker")
	cmd := exec.Command(tool, "build", "-tags", "faults", "-o", path, "./faultworker")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the workers of the fault tests: %w\n%s", err, out)
	}
	return path, nil
}

// child is a worker in a process of its own.
type child struct {
	w    *world
	plan failpoint.Plan
	cmd  *exec.Cmd
	log  devstacktest.Log
	done chan struct{} // closed once the process has ended
}

func tail(log *devstacktest.Log) string {
	lines := strings.Split(log.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}

// healthy is a plan without a fault.
var healthy failpoint.Plan

// work starts a worker of this world, with the variables of more. The worker ends with the test.
func (w *world) work(plan failpoint.Plan, more ...string) *child {
	w.t.Helper()
	c := &child{w: w, plan: plan, cmd: exec.Command(faultworker(w.t)), done: make(chan struct{})}
	c.cmd.Dir = w.workspace
	c.cmd.Env = append(append([]string{
		"HOME=" + w.workspace, "TEMPORAL_ADDRESS=" + w.address, "TEMPORAL_NAMESPACE=" + w.namespace, "PAWL_DATABASE_URL=" + w.database,
		"PAWL_DATABASE_CONNECTIONS=8", "PAWL_LEDGER=" + w.ledger.URL(),
		"TEMPORAL_DEBUG=1", // without it, the SDK reports a machine that stalls for a second as a deadlock of workflow code
	}, plan.Environ()...), more...)
	c.cmd.Stdout, c.cmd.Stderr = &c.log, &c.log
	c.cmd.SysProcAttr = endWithParent()
	if _, err := c.cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		_ = c.cmd.Wait()
		close(c.done)
	}()
	w.t.Cleanup(func() {
		c.kill()
		if w.t.Failed() {
			w.t.Logf("the last output of worker %d (%s %s):\n%s", c.pid(), plan.By, plan.At, tail(&c.log))
		}
	})
	return c
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) signal(s syscall.Signal) {
	c.w.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.w.t.Fatal(err)
	}
}

// kill sends SIGKILL, which also ends a stopped child.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.done
}

func (c *child) dead() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// runs waits until the child polls for tasks, or has ended.
func (c *child) runs() *child {
	c.w.t.Helper()
	c.w.until(func() bool { return c.dead() || c.log.Has("worker runs") }, "a worker runs")
	return c
}

// crashed waits until the child has killed itself at its point. It fails the test if something else
// ended the child.
func (c *child) crashed() {
	c.w.t.Helper()
	c.w.until(c.dead, fmt.Sprintf("a worker dies at %s: the point was not reached", c.plan.At))
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL || !c.hit() {
		c.w.t.Fatalf("the worker ended with %s and not by a kill at %s", c.cmd.ProcessState, c.plan.At)
	}
}

// stopped waits until the child has stopped itself at its point.
func (c *child) stopped() {
	c.w.t.Helper()
	c.w.until(func() bool {
		if c.dead() {
			c.w.t.Fatalf("the worker ended with %s instead of stopping at %s", c.cmd.ProcessState, c.plan.At)
		}
		return c.hit() && stateOf(c.pid()) == "T"
	}, fmt.Sprintf("a worker stops at %s", c.plan.At))
}

func (c *child) hit() bool {
	return c.log.Has(fmt.Sprintf("failpoint: %s at %s", c.plan.By, c.plan.At))
}

// goOn continues a stopped child.
func (c *child) goOn() { c.signal(syscall.SIGCONT) }

// stateOf returns the state of a process, as a letter of ps.
func stateOf(pid int) string {
	out, err := exec.Command("ps", "-o", "state=", "-p", fmt.Sprint(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))[:1]
}
