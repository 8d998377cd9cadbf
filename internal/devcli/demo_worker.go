package devcli

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

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// demoCrashSuffix ends the name of the file whose writer is killed.
const demoCrashSuffix = "-crash.md"

// newDemoWorker makes the hidden command of the worker of `pawl demo`: a normal worker
// with one additional hook.
func newDemoWorker(a devApp) *cobra.Command {
	return &cobra.Command{
		Use: "demo-worker", Hidden: true, Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := worker.LoadConfig()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			// The demo holds the other end of stdin. The kernel closes it when the demo
			// ends in any way, so this worker ends too.
			go func() {
				_, _ = io.Copy(io.Discard, os.Stdin)
				cancel()
			}()
			c.KeyRing.Wrapper = a.Wrapper
			return worker.Run(ctx, c, worker.Hooks(slowAnswer()))
		},
	}
}

// slowAnswer returns a hook that holds back the answer of the first attempt to write the crash file until the attempt is
// cancelled. Meanwhile the demo kills the worker: the file is written, and Temporal has no answer.
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
	cmd *exec.Cmd
	// stdin is the standard input of the worker. The worker stops when stdin is closed.
	stdin io.WriteCloser
	// done is closed when the process has ended.
	done chan struct{}
	// wanted says that the demo itself ends the worker, so the end of the worker is no
	// error.
	wanted atomic.Bool
}

// startWorker starts a worker in a process of its own and stores it in d.worker. After
// that, the demo fails if the worker ends before the demo calls kill or stop.
func (d *demo) startWorker() error {
	// The worker is this program with the command demo-worker.
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// The command has no context. A call may have to settle after the context of the demo
	// ends, and settling needs this worker. cleanUp stops the process.
	cmd := exec.Command(self, "demo-worker")
	// The worker must reach the servers of the demo only. It does not inherit environment
	// variables that name other servers or keys.
	cmd.Env = append(append(without(os.Environ(), "TEMPORAL_", "PAWL_", "DATABASE_URL"),
		"TEMPORAL_CONFIG_FILE="+os.DevNull, // a profile's certificates and keys are for another server
		"TEMPORAL_ADDRESS="+d.stack.TemporalAddress(), "TEMPORAL_NAMESPACE="+d.stack.Namespace(),
		"PAWL_DATABASE_URL="+d.stack.DatabaseURL(), "PAWL_LOG_LEVEL=error"), keyRingEnv(d.ring)...)
	cmd.Stderr = d.Err
	// Ctrl-C in the terminal must not reach the worker: the demo stops it.
	ownGroup(cmd)
	// If the demo is killed, the kernel closes this pipe, and the worker ends too.
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	w := &demoWorker{cmd: cmd, stdin: stdin, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(w.done)
		// Without a worker, the calls of the demo would wait until demoTime is over.
		if !w.wanted.Load() {
			d.fail(errors.New("the worker ended by itself; its messages are above"))
		}
	}()
	d.worker = w
	d.say("worker %d started", w.pid())
	return nil
}

func (w *demoWorker) pid() int { return w.cmd.Process.Pid }

// kill ends the worker with SIGKILL, so that it cannot report anything, and waits until
// the process has ended.
func (w *demoWorker) kill() error {
	w.wanted.Store(true)
	if err := w.cmd.Process.Kill(); err != nil {
		return err
	}
	<-w.done
	return nil
}

// stop asks the worker to end, and kills it after 20 seconds.
func (w *demoWorker) stop() {
	w.wanted.Store(true)
	_ = w.stdin.Close()
	select {
	case <-w.done:
	case <-time.After(20 * time.Second):
		_ = w.kill()
	}
}

// without returns env without the variables whose names begin with one of the prefixes.
// It keeps TEMPORAL_DEBUG: that variable names no server, and makes the SDK wait for slow
// workflow code.
func without(env []string, prefixes ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		return !strings.HasPrefix(entry, "TEMPORAL_DEBUG=") && slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(entry, p) })
	})
}
