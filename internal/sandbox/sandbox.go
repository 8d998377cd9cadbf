//go:build linux && (amd64 || arm64)

package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// openTimeout bounds the script with which Open tries the sandbox.
const openTimeout = 30 * time.Second

// maxStatus bounds what the worker reads from the first process, in bytes.
const maxStatus = 4 << 10

// Sandbox runs scripts.
type Sandbox struct {
	options Options
	// cgroups is nil without the protection Cgroup.
	cgroups *cgroups
	// protections are those of the script that Open ran.
	protections []string
	// lacksRoom is the function; tests change it.
	lacksRoom func(*unix.Statfs_t) bool
	// uid and gid are the user and the group of scripts, outside of their namespace.
	uid, gid int
}

// Open returns the sandbox of a workspace. It runs a script, and returns an error that says what is missing if the machine does not let it
// have the protections that the options ask for.
func Open(ctx context.Context, o Options) (*Sandbox, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	workspace, err := findWorkspace(o.Workspace)
	if err != nil {
		return nil, err
	}
	o.Workspace = workspace
	s := &Sandbox{options: o, lacksRoom: lacksRoom}
	if err := s.chooseUser(); err != nil {
		return nil, err
	}
	if !o.lacks(Cgroup) {
		if s.cgroups, err = openCgroups(cmp.Or(o.Memory, MaxMemory)); err != nil {
			return nil, err
		}
	}
	ran, err := s.Run(ctx, capability.Command{Script: "exit 7", Timeout: openTimeout, MaxOutput: 1}, io.Discard)
	if err == nil && ran.ExitCode != 7 {
		err = fmt.Errorf("a script that ends with 7 ended with %d %s %s", ran.ExitCode, ran.Signal, ran.StoppedBy)
	}
	if err != nil {
		return nil, fmt.Errorf("no script can run in a sandbox: %w", err)
	}
	s.protections = ran.Protections
	return s, nil
}

// chooseUser finds who scripts are outside of their namespace: the worker's user, and for root the owner of the workspace.
func (s *Sandbox) chooseUser() error {
	s.uid, s.gid = os.Geteuid(), os.Getegid()
	if s.uid != 0 || s.options.lacks(User) {
		return nil
	}
	info, err := os.Stat(s.options.Workspace)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return errors.New("the worker is root, and root owns the workspace, so that scripts would be root: run the worker as another user, or give the workspace to another user")
	}
	if owner.Gid == 0 {
		return errors.New("the worker is root, and the group of the workspace is that of root, so that scripts would have it: give the workspace to another user and group")
	}
	s.uid, s.gid = int(owner.Uid), int(owner.Gid)
	return nil
}

// changesUser reports whether the first process has another user than the script: root, which can make any user the user of the script.
func (s *Sandbox) changesUser() bool { return s.uid != os.Geteuid() }

// Protections returns the names of the protections that are on, sorted.
func (s *Sandbox) Protections() []string { return s.protections }

// Run implements capability.Commands.
func (s *Sandbox) Run(ctx context.Context, c capability.Command, out io.Writer) (end capability.CommandEnd, err error) {
	dir := filepath.Clean("/" + c.Dir)
	if filepath.IsAbs(c.Dir) || !filepath.IsLocal(filepath.Join(".", c.Dir)) {
		return end, capability.ErrOutside
	}
	if strings.ContainsRune(c.Script, 0) || strings.ContainsRune(c.Dir, 0) {
		return end, capability.ErrBadPath
	}
	p, err := s.start(config{
		Workspace: s.options.Workspace, Dir: strings.TrimPrefix(dir, "/"), Script: c.Script, HostNetwork: s.options.lacks(Network), ChangeUser: s.changesUser(),
	})
	if err != nil {
		return end, err
	}
	defer p.close()
	began := time.Now()
	timer := time.AfterFunc(c.Timeout, func() { p.stop(capability.LimitTime) })
	defer timer.Stop()
	unwatch := context.AfterFunc(ctx, func() { p.stop("") })
	defer unwatch()
	done := make(chan struct{})
	defer close(done)
	go watchRoom(s.options.Workspace, s.lacksRoom, done, func() { p.stop(capability.LimitDisk) })
	written := p.copy(out, c.MaxOutput)
	st, err := p.wait()
	end = capability.CommandEnd{ExitCode: st.Exit, Duration: time.Since(began), Protections: s.options.protections(p.limits())}
	if st.Signal != 0 {
		end.Signal = unix.SignalName(syscall.Signal(st.Signal))
	}
	stopped, wasStopped := p.stopped.Load().(capability.Limit)
	outOfMemory := p.group != nil && p.group.outOfMemory()
	switch {
	case written != nil:
		return end, written
	case wasStopped && stopped == "":
		return end, ctx.Err()
	case wasStopped:
		end.ExitCode, end.Signal, end.StoppedBy = -1, "SIGKILL", stopped
	case outOfMemory && (err != nil || st.Signal == int(unix.SIGKILL)):
		end.ExitCode, end.Signal, end.StoppedBy = -1, "SIGKILL", capability.LimitMemory
	case st.NoDir:
		return end, capability.ErrNotExist
	case err != nil:
		return end, err
	case st.Fault != "":
		return end, errors.New(st.Fault)
	}
	if end.StoppedBy != "" {
		end.Reached = append(end.Reached, end.StoppedBy)
	}
	if outOfMemory {
		end.Reached = append(end.Reached, capability.LimitMemory)
	}
	if p.group != nil && p.group.outOfProcesses() {
		end.Reached = append(end.Reached, capability.LimitProcesses)
	}
	slices.Sort(end.Reached)
	end.Reached = slices.Compact(end.Reached)
	return end, nil
}

// process is the first process of a sandbox, with the ends of its pipes.
type process struct {
	cmd                     *exec.Cmd
	group                   *group
	control, status, output *os.File
	stopped                 atomic.Value
	ended                   chan error
}

// limits returns the optional protections of the control group.
func (p *process) limits() []string {
	if p.group == nil {
		return nil
	}
	return p.group.limits
}

// start starts the first process and sends it its configuration.
func (s *Sandbox) start(c config) (_ *process, err error) {
	p := &process{ended: make(chan error, 1)}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
		if err != nil {
			p.close()
		}
	}()
	pipe := func(ours **os.File, weRead bool) *os.File {
		r, w, pipeErr := os.Pipe()
		if pipeErr != nil {
			err = errors.Join(err, pipeErr)
			return nil
		}
		if !weRead {
			r, w = w, r
		}
		*ours, theirs = r, append(theirs, w)
		return w
	}
	control, report, output := pipe(&p.control, false), pipe(&p.status, true), pipe(&p.output, true)
	if err != nil {
		return nil, err
	}
	if s.cgroups != nil {
		if p.group, err = s.cgroups.makeGroup(); err != nil {
			return nil, err
		}
	}
	p.cmd = &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{initName}, Env: []string{}, Dir: "/",
		Stdout: output, Stderr: output, ExtraFiles: []*os.File{control, report}, SysProcAttr: s.attributes(c),
	}
	if err := p.run(); err != nil {
		return nil, err
	}
	if p.group != nil {
		err = p.group.add(p.cmd.Process.Pid)
	}
	if err == nil {
		err = json.NewEncoder(p.control).Encode(c)
	}
	if err != nil {
		p.stop("")
		_ = <-p.ended //nolint:staticcheck // killed; what it says is not needed
		return nil, err
	}
	return p, nil
}

// attributes returns the namespaces of the first process.
func (s *Sandbox) attributes(c config) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		Pdeathsig:  syscall.SIGKILL, AmbientCaps: capabilities,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: insideID, HostID: s.uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: insideID, HostID: s.gid, Size: 1}},
	}
	if !c.HostNetwork {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	if c.ChangeUser {
		a.UidMappings = append(a.UidMappings, syscall.SysProcIDMap{HostID: os.Geteuid(), Size: 1})
		a.GidMappings = append(a.GidMappings, syscall.SysProcIDMap{HostID: os.Getegid(), Size: 1})
		a.GidMappingsEnableSetgroups = true
		a.AmbientCaps = append(slices.Clone(capabilities), unix.CAP_SETUID, unix.CAP_SETGID)
	}
	return a
}

// run starts the process, on a thread that lives until the process has ended: the kernel kills the process when that thread ends.
func (p *process) run() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.ended <- p.cmd.Wait()
		}
	}()
	return <-started
}

// stop kills the first process, and with it every process of the sandbox. The first limit counts.
func (p *process) stop(by capability.Limit) {
	p.stopped.CompareAndSwap(nil, by)
	_ = p.cmd.Process.Kill()
}

// copy writes the output to out until every process of the sandbox has closed it. It stops the script when it has written more than limit
// bytes, or when a write fails, and returns the error of that write.
func (p *process) copy(out io.Writer, limit int64) error {
	n, err := io.Copy(out, io.LimitReader(p.output, limit))
	if err != nil {
		p.stop("")
		return err
	}
	if n == limit {
		var more [1]byte
		if n, _ := p.output.Read(more[:]); n > 0 {
			p.stop(capability.LimitOutput)
		}
	}
	return nil
}

// wait waits for the end of the first process and returns its report.
func (p *process) wait() (s status, err error) {
	ended := <-p.ended
	text, err := io.ReadAll(io.LimitReader(p.status, maxStatus))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return status{}, fmt.Errorf("the first process of the sandbox ended without a report: %w", ended)
	}
	return s, nil
}

// close releases what the process used. The process has ended, or was never started.
func (p *process) close() {
	for _, f := range []*os.File{p.control, p.status, p.output} {
		if f != nil {
			_ = f.Close()
		}
	}
	if p.group != nil {
		p.group.remove()
	}
}
