package mcp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// writeTime bounds a write to the standard input of a server. A server that does not read for as long is
	// stopped.
	writeTime = 10 * time.Second
	// stopTime bounds how long a server may take to end after its standard input is closed, and again after
	// SIGTERM.
	stopTime = time.Second
)

// errStart says that the program of a server did not start.
var errStart = errors.New("the command of the server cannot be started")

// process is a server that runs as a process, in a process group of its own.
type process struct {
	cmd    *exec.Cmd
	in     *os.File // the standard input of the server
	out    *os.File // the standard output of the server
	exited chan struct{}
	stop   sync.Once
}

// startProcess starts the program of a server with exactly the variables env. Its standard error is
// discarded: the text of a server is not for logs.
func startProcess(s Server, env []string) (*process, error) {
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errStart, err)
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(errStart, err, inRead.Close(), inWrite.Close())
	}
	cmd := exec.Command(s.Command, s.Args...) // close ends it, in steps
	cmd.Dir, cmd.Env = s.Dir, env
	cmd.Stdin, cmd.Stdout = inRead, outWrite
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	if closed := errors.Join(inRead.Close(), outWrite.Close()); err == nil {
		err = closed
	}
	if err != nil {
		return nil, errors.Join(errStart, err, inWrite.Close(), outRead.Close())
	}
	p := &process{cmd: cmd, in: inWrite, out: outRead, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		// Other processes of the group would keep the standard output open.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = outRead.SetReadDeadline(time.Now().Add(time.Second))
		close(p.exited)
	}()
	return p, nil
}

// environment returns the variables of a stdio server as exec.Cmd takes them.
func environment(s Server, lookup func(string) (string, bool)) []string {
	var env []string
	for name, value := range s.Variables(lookup) {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// transport returns the transport of the SDK over the pipes of the process.
func (p *process) transport(in *intake) sdk.Transport {
	return &sdk.IOTransport{
		Reader:        processOutput{in.reader(p.out, true), p},
		Writer:        processInput{p, in},
		MaxLineLength: maxMessage,
	}
}

// processOutput stops the process when it is closed.
type processOutput struct {
	io.Reader
	p *process
}

func (o processOutput) Close() error {
	o.p.close()
	return nil
}

type processInput struct {
	p  *process
	in *intake
}

func (i processInput) Write(data []byte) (int, error) {
	if err := i.p.in.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return 0, err
	}
	n, err := i.p.in.Write(data)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = i.in.fail(errUnread) // the SDK would read on
	}
	return n, err
}

func (i processInput) Close() error {
	i.p.close()
	return nil
}

// close ends the process: it closes its standard input, then sends SIGTERM and SIGKILL to its group. It
// returns when the process has ended, or after stopTime for each of these steps: a process in the kernel cannot be killed.
func (p *process) close() {
	p.stop.Do(func() {
		_ = p.in.Close()
		if !p.waits() {
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM)
			if !p.waits() {
				_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
				p.waits()
			}
		}
		_ = p.out.Close()
	})
}

// waits reports whether the process ends within stopTime.
func (p *process) waits() bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(stopTime):
		return false
	}
}
