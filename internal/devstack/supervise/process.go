package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// gate reads one line before it runs the program. If the input ends instead, the owner has died.
const gate = `IFS= read -r go && exec "$0" "$@" </dev/null`

// Account is the user and the group of a process.
type Account struct{ UID, GID uint32 }

// Command describes a process to start.
type Command struct {
	Path    string   // absolute path of the program
	Args    []string // without the program's name
	Env     []string // the whole environment; nothing is inherited
	Dir     string   // working directory; "" = the root directory
	Output  *os.File // standard output and error; nil = discarded
	Account *Account // run as this user (needs root); nil = as ourselves
	Signal  Signal   // what a guard sends first if the owner dies; "" = Terminate
	Group   bool     // signals go to the whole process group, for programs that start others and do not pass signals on
}

// Signal is a signal that this package sends.
type Signal string

// The signals, with the names of kill(1).
const (
	Interrupt Signal = "INT"
	Terminate Signal = "TERM"
	Quit      Signal = "QUIT"
	Kill      Signal = "KILL"
)

// Step is one attempt to end a process: a signal, and how long to wait until the process ends.
type Step struct {
	Signal Signal
	Wait   time.Duration
}

// Process is a started process.
type Process struct {
	cmd   *exec.Cmd
	group bool
	done  chan struct{}
	err   error // set before done closes
}

// Start runs a program under the guard. A guard watches one process at a time, so the process
// before must have ended. The process has its own session, so Ctrl-C at a terminal does not reach
// it.
func (g *Guard) Start(c Command) (*Process, error) {
	gateRead, gateWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	defer gateWrite.Close()
	defer gateRead.Close()
	cmd := exec.Command(shell, append([]string{"-c", gate, c.Path}, c.Args...)...)
	cmd.Stdin, cmd.Env, cmd.Dir = gateRead, c.Env, c.Dir
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	if c.Output != nil {
		cmd.Stdout, cmd.Stderr = c.Output, c.Output
	}
	if g.hold != nil {
		cmd.ExtraFiles = []*os.File{g.hold}
	}
	if err := detach(cmd, c.Account); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	p := &Process{cmd: cmd, group: c.Group, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		_ = g.forget() // a dead guard needs no message
		close(p.done)
	}()
	target, signal := cmd.Process.Pid, c.Signal
	if c.Group {
		target = -target
	}
	if signal == "" {
		signal = Terminate
	}
	if err := g.watch(target, string(signal)); err != nil {
		p.Kill()
		return nil, err
	}
	if _, err := gateWrite.WriteString("go\n"); err != nil {
		p.Kill()
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	return p, nil
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns how the process ended: nil for exit status 0. Call it only after Done is closed.
func (p *Process) Err() error { return p.err }

// Stop takes the steps until the process has ended, and then kills it. When it returns, the process has ended. After the end of ctx a step
// waits at most a second.
func (p *Process) Stop(ctx context.Context, steps ...Step) {
	for _, step := range steps {
		if p.signal(step.Signal) != nil {
			break // the process is ending, or only Kill can signal it
		}
		if p.ends(ctx, step.Wait) {
			return
		}
	}
	p.Kill()
}

// Kill kills the process and waits until it has ended.
func (p *Process) Kill() {
	_ = p.signal(Kill)
	<-p.done
}

func (p *Process) ends(ctx context.Context, wait time.Duration) bool {
	timeout, stop := ctx.Done(), time.NewTimer(wait)
	defer stop.Stop()
	if ctx.Err() != nil {
		timeout = nil
		stop.Reset(min(wait, time.Second))
	}
	select {
	case <-p.done:
		return true
	case <-timeout:
	case <-stop.C:
	}
	return false
}

func (p *Process) signal(s Signal) error {
	select {
	case <-p.done:
		return os.ErrProcessDone
	default:
	}
	number, err := s.number()
	if err != nil {
		return err
	}
	if p.group {
		return signalGroup(p.cmd.Process.Pid, number)
	}
	return p.cmd.Process.Signal(number)
}

var errUnknownSignal = errors.New("unknown signal: use a constant of package supervise")
