package supervise

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
)

// freezer stops processes, prints a line, and continues them when its input ends, which also
// happens when the calling process dies.
const freezer = `trap '' HUP INT QUIT TERM
kill -s STOP -- "$@"
echo stopped
read -r _
kill -s CONT -- "$@"`

// Frozen holds processes that are stopped until Thaw.
type Frozen struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

// Freeze stops processes with SIGSTOP. They continue after Thaw, or when the calling process ends.
// A process that has already ended is not an error.
func Freeze(pids ...int) (*Frozen, error) {
	args := []string{"-c", freezer, "pawl-freezer"}
	for _, pid := range pids {
		args = append(args, strconv.Itoa(pid))
	}
	cmd := exec.Command(shell, args...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + os.Getenv("PATH")}
	if err := detach(cmd, nil); err != nil {
		return nil, err
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("freeze processes: %w", err)
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("freeze processes: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("freeze processes (a POSIX shell at %s is needed): %w", shell, err)
	}
	f := &Frozen{cmd: cmd, stdin: stdin}
	if _, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		f.Thaw()
		return nil, fmt.Errorf("freeze processes: the shell ended: %w", err)
	}
	return f, nil
}

// Thaw continues the processes. It returns when they have continued.
func (f *Frozen) Thaw() {
	_ = f.stdin.Close()
	_ = f.cmd.Wait()
}
