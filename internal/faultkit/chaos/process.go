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

// stopTimeout is how long a worker may take to end when it is told to.
const stopTimeout = 25 * time.Second

// process is one worker process. done is closed when it has ended.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	done  chan struct{}
	tail  *tail
	// wanted says that somebody ended it.
	wanted atomic.Bool
}

// spawn starts a worker process.
func spawn(o Options, environment []string) (*process, error) {
	cmd := o.Worker()
	cmd.Env = append(cmd.Env, environment...)
	p := &process{cmd: cmd, done: make(chan struct{}), tail: &tail{copyTo: o.Log}}
	cmd.Stdout, cmd.Stderr = p.tail, p.tail
	// A terminal's Ctrl-C is not for it: the run ends it.
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

// end signals the process to end. One that is stopped has to wake for SIGTERM,
// and dies of SIGKILL as it is.
func (p *process) end(signal syscall.Signal) {
	p.wanted.Store(true)
	_ = p.cmd.Process.Signal(signal)
}

// close ends it in good order, or insists after a while.
func (p *process) close() {
	p.wanted.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	_ = p.stdin.Close()
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.end(syscall.SIGKILL)
		<-p.done
	}
}

// tailBytes is how much of what a worker writes is kept.
const tailBytes = 4000

// tail keeps the end of what is written to it.
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
