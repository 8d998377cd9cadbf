package supervise

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
)

//go:embed guard.sh
var guardScript string

const shell = "/bin/sh"

// GuardOptions configure a Guard.
type GuardOptions struct {
	// Remove lists absolute paths that the guard deletes, with their contents, if its owner dies
	// without Close.
	Remove []string
	// Hold stays open in the guard and in every process that it starts, so a lock on it is free only after all of them have ended. It may
	// be nil.
	Hold *os.File
}

// Guard ends a process if its owner, the calling process, dies. It guards one process at a time. It
// is safe for concurrent use.
type Guard struct {
	hold *os.File
	cmd  *exec.Cmd

	mu   sync.Mutex
	pipe *os.File // nil once closed
}

// NewGuard starts a guard. The caller must call Close.
func NewGuard(o GuardOptions) (*Guard, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the guard process: %w", err)
	}
	defer read.Close()
	// The script is in the environment, so that process lists stay readable.
	cmd := exec.Command(shell, append([]string{"-c", `eval "$SCRIPT"`, "pawl-guard"}, o.Remove...)...)
	cmd.Stdin, cmd.Dir = read, "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "SCRIPT=" + guardScript}
	if o.Hold != nil {
		cmd.ExtraFiles = []*os.File{o.Hold}
	}
	// The guard has its own session. Otherwise Ctrl-C or a closed terminal would end it together
	// with its owner.
	if err := detach(cmd, nil); err != nil {
		_ = write.Close()
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		_ = write.Close()
		return nil, fmt.Errorf("start the guard process (a POSIX shell at %s is needed): %w", shell, err)
	}
	return &Guard{hold: o.Hold, cmd: cmd, pipe: write}, nil
}

// Close ends the guard and leaves its process and its files unchanged. Stop guarded processes first. Later calls do nothing.
func (g *Guard) Close() error {
	g.mu.Lock()
	pipe := g.pipe
	g.pipe = nil
	g.mu.Unlock()
	if pipe == nil {
		return nil
	}
	_, writeErr := pipe.WriteString("done\n")
	_ = pipe.Close()
	if err := g.cmd.Wait(); err != nil && writeErr == nil {
		return fmt.Errorf("the guard process ended badly: %w", err)
	}
	return nil
}

func (g *Guard) watch(target int, signal string) error {
	return g.say("watch " + strconv.Itoa(target) + " " + signal)
}

func (g *Guard) forget() error { return g.say("forget") }

func (g *Guard) say(line string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe == nil {
		return fmt.Errorf("the guard is closed: make a new one")
	}
	if _, err := g.pipe.WriteString(line + "\n"); err != nil {
		return fmt.Errorf("the guard process is gone (was it killed?); start again: %w", err)
	}
	return nil
}
