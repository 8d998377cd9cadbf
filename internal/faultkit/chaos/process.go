package chaos

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// stopTimeout is how long a worker may take to end in good order.
const stopTimeout = 25 * time.Second

// process is one worker process. done is closed when it has ended.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	done  chan struct{}
	tail  *tail
	// wanted reports that the run ended the process.
	wanted atomic.Bool
}

func spawn(o Options, environment []string) (*process, error) {
	cmd := o.Worker()
	cmd.Env = append(cmd.Env, environment...)
	p := &process{cmd: cmd, done: make(chan struct{}), tail: &tail{copyTo: o.Log}}
	cmd.Stdout, cmd.Stderr = p.tail, p.tail
	// A Ctrl-C in the terminal must not reach the worker: the run ends its workers.
	cmd.SysProcAttr = ownGroup()
	var err error
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// end sends a signal to the process. SIGTERM takes effect in a stopped process only after SIGCONT;
// SIGKILL takes effect at once.
func (p *process) end(signal syscall.Signal) {
	p.wanted.Store(true)
	_ = p.cmd.Process.Signal(signal)
}

// close ends the process in good order, and kills it after stopTimeout.
func (p *process) close() {
	p.wanted.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	_ = p.stdin.Close()
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		p.end(syscall.SIGKILL)
		<-p.done
	}
}

// tailBytes is the number of bytes of a worker's output that are kept.
const tailBytes = 4000

// tail keeps the end of its input.
type tail struct {
	mu     sync.Mutex
	kept   []byte
	copyTo io.Writer
}

func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, text...)
	t.kept = t.kept[max(0, len(t.kept)-tailBytes):]
	if t.copyTo != nil {
		return t.copyTo.Write(text)
	}
	return len(text), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.kept))
}
