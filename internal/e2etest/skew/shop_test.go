package skew

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
)

// shop is the program shop of a release, with the servers of a world.
type shop struct {
	w          *e2etest.World
	name, path string
	// environment has more variables for its commands.
	environment []string
}

// effects is the file into which the tool of a call writes.
func effects(w *e2etest.World, inv toolspec.Invocation) string {
	return filepath.Join(w.Workspace, inv.ToolCallID)
}

func (s *shop) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.path, args...)
	cmd.Dir = s.w.Workspace
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.w.T.TempDir(), "PAWL_TEST_RELEASE=" + s.name, "PAWL_TEST_LEDGER=" + s.w.Workspace,
		"TEMPORAL_ADDRESS=" + s.w.Address, "TEMPORAL_NAMESPACE=" + s.w.Namespace, "PAWL_DATABASE_URL=" + s.w.Database, "PAWL_SWEEP_EVERY=2s",
	}, s.environment...)
	return cmd
}

// run runs a command that must succeed and print these texts.
func (s *shop) run(command string, want ...string) {
	s.w.T.Helper()
	ctx, cancel := context.WithTimeout(s.w.T.Context(), e2etest.WaitTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := s.command(ctx, strings.Fields(command)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		s.w.T.Fatalf("%s: %s: %v: %s", s.name, command, err, stderr.String())
	}
	for _, text := range want {
		if !strings.Contains(stdout.String(), text) {
			s.w.T.Errorf("%s: %s: no %q in %s", s.name, command, text, stdout.String())
		}
	}
}

// serve starts a worker.
func (s *shop) serve() *exec.Cmd {
	s.w.T.Helper()
	cmd := s.command(context.WithoutCancel(s.w.T.Context()), "worker")
	cmd.Stdout, cmd.Stderr = s.w.Log, s.w.Log
	if err := cmd.Start(); err != nil {
		s.w.T.Fatal(err)
	}
	s.w.T.Cleanup(func() { e2etest.Kill(cmd) })
	return cmd
}

// terminate stops a worker with SIGTERM, as a deploy does.
func terminate(w *e2etest.World, cmd *exec.Cmd) {
	w.T.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.T.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		w.T.Errorf("a worker ended with %v", err)
	}
}
