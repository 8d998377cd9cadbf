package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// demoCrashSuffix marks the file whose writer is killed.
const demoCrashSuffix = "-crash.md"

// newDemoWorker is the worker of `pawl demo`: a worker with one hook more.
func newDemoWorker(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "demo-worker", Hidden: true, Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := worker.LoadConfig()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			// The demo holds the other end: however it ends, this ends too.
			go func() {
				_, _ = io.Copy(io.Discard, os.Stdin)
				cancel()
			}()
			c.KeyRing.Wrapper = a.wrapper
			return worker.Run(ctx, c, worker.Hooks(slowAnswer()))
		},
	}
}

// slowAnswer holds back the answer of the first attempt at the crash file, so
// that there is a middle to kill the worker in: the file is written, and nobody
// knows. It is an ordinary hook.
func slowAnswer() hook.Hook {
	return hook.New("demo-slow-answer", hook.DidExecute.Do(func(ctx context.Context, v *hook.Executed) error {
		if v.ToolID() == "core__write_file" && v.Round() == 1 && strings.Contains(string(v.Args()), demoCrashSuffix) {
			<-ctx.Done()
		}
		return nil
	}))
}

// demoWorker is a worker process of the demo.
type demoWorker struct {
	cmd   *exec.Cmd
	leash io.WriteCloser
	done  chan struct{}
	// wanted says that it is to end.
	wanted atomic.Bool
}

func (d *demo) startWorker() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// The worker dies with the demo's clean-up, not with its context: what ends
	// first must still settle.
	cmd := exec.Command(self, "demo-worker")
	cmd.Env = append(append(without(os.Environ(), "TEMPORAL_", "PAWL_", "DATABASE_URL"),
		"TEMPORAL_CONFIG_FILE="+os.DevNull, // a profile's certificates and keys are for another server
		"TEMPORAL_ADDRESS="+d.stack.TemporalAddress(), "TEMPORAL_NAMESPACE="+d.stack.Namespace(),
		"PAWL_DATABASE_URL="+d.stack.DatabaseURL(), "PAWL_LOG_LEVEL=error"), keyRingEnv(d.ring)...)
	cmd.Stderr = d.Err
	ownGroup(cmd)
	leash, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	w := &demoWorker{cmd: cmd, leash: leash, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(w.done)
		if !w.wanted.Load() {
			d.fail(errors.New("the worker ended by itself; its messages stand above"))
		}
	}()
	d.worker = w
	d.say("worker %d started", w.pid())
	return nil
}

func (w *demoWorker) pid() int { return w.cmd.Process.Pid }

// kill ends the worker without a chance to say goodbye.
func (w *demoWorker) kill() error {
	w.wanted.Store(true)
	if err := w.cmd.Process.Kill(); err != nil {
		return err
	}
	<-w.done
	return nil
}

// stop asks the worker to end, and insists after a while.
func (w *demoWorker) stop() {
	w.wanted.Store(true)
	_ = w.leash.Close()
	select {
	case <-w.done:
	case <-time.After(20 * time.Second):
		_ = w.kill()
	}
}

// without leaves out the variables that name servers. TEMPORAL_DEBUG names none: it
// has the SDK wait for workflow code that is slow.
func without(env []string, prefixes ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		return !strings.HasPrefix(entry, "TEMPORAL_DEBUG=") && slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(entry, p) })
	})
}
