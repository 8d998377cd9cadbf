//go:build unix

package failpoint_test

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/pawl-run/pawl/internal/faultkit/failpoint"
	"github.com/pawl-run/pawl/internal/faultkit/point"
)

// childEnv makes this test binary a process that reaches one point three times.
const childEnv = "PAWL_FAILPOINT_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	plan, err := failpoint.Parse(os.Getenv)
	if err != nil {
		panic(err)
	}
	trap := failpoint.New(plan, os.Stdout)
	for range 3 {
		_, _ = os.Stdout.WriteString("comes\n")
		trap.Hit(point.ClaimAfter)
		trap.Hit(point.ClaimBefore)
		_, _ = os.Stdout.WriteString("goes\n")
	}
	if plan.By == failpoint.Term {
		<-signals
	}
}

// TestHit: the signal takes effect at the planned point and count, before anything else happens.
func TestHit(t *testing.T) {
	t.Parallel()
	for by, want := range map[failpoint.By]string{
		failpoint.Kill: "comes goes comes failpoint: KILL at claim.after",
		failpoint.Stop: "comes goes comes failpoint: STOP at claim.after | goes comes goes",
		failpoint.Term: "comes goes comes failpoint: TERM at claim.after goes comes goes",
	} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), self)
			cmd.Env = append(failpoint.Plan{At: point.ClaimAfter, Nth: 2, By: by}.Environ(), childEnv+"=1")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			var words []string
			for lines := bufio.NewScanner(out); lines.Scan(); {
				words = append(words, lines.Text())
				if !bytes.HasPrefix(lines.Bytes(), []byte("failpoint: STOP")) {
					continue
				}
				// Only this test continues the process, so it is stopped at any time.
				var status syscall.WaitStatus
				if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
					t.Fatalf("the process is not stopped: %v, %v", status, err)
				}
				words = append(words, "|")
				if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
			}
			err = cmd.Wait()
			var ended *exec.ExitError
			if killed := errors.As(err, &ended); killed != (by == failpoint.Kill) {
				t.Errorf("the process ended with %v", err)
			}
			if got := strings.Join(words, " "); got != want {
				t.Errorf("it wrote %q, want %q", got, want)
			}
		})
	}
}
