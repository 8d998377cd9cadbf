//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// initName is the name by which the worker starts its program again as the first process of a sandbox.
const initName = "pawl-sandbox"

// insideID is the user and the group of a script, in its own namespace.
const insideID = 1000

// Descriptors of the first process, beside the standard ones.
const (
	controlFD = 3
	statusFD  = 4
)

// capabilities are the rights over its own namespaces that the first process needs.
var capabilities = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_NET_ADMIN}

// config is what the worker sends to the first process.
type config struct {
	Workspace string `json:"workspace"`
	Dir       string `json:"dir"`
	Script    string `json:"script"`
	// HostNetwork says that the network is that of the worker.
	HostNetwork bool `json:"hostNetwork,omitempty"`
	// ChangeUser says that the first process is root in its namespace, and the script is not.
	ChangeUser bool `json:"changeUser,omitempty"`
}

// status is what the first process sends to the worker before it ends.
type status struct {
	Exit   int `json:"exit"`
	Signal int `json:"signal,omitempty"`
	// NoDir says that the working directory does not exist.
	NoDir bool `json:"noDir,omitempty"`
	// Fault says why the script could not start.
	Fault string `json:"fault,omitempty"`
}

// init makes this program the first process of a sandbox, if it was started as such. It must run before the main function of the program,
// which is that of a user of package worker.
func init() {
	if len(os.Args) == 1 && os.Args[0] == initName && os.Getpid() == 1 {
		os.Exit(runFirst())
	}
}

// runFirst is the main function of the first process. It returns its exit status.
func runFirst() int {
	runtime.LockOSThread() // rights are those of a thread, and the shell inherits them from this one
	control, report := os.NewFile(controlFD, "control"), os.NewFile(statusFD, "status")
	s := status{}
	var c config
	err := json.NewDecoder(control).Decode(&c)
	if err == nil {
		// The worker writes nothing more. The pipe ends when the worker has died.
		go func() {
			_, _ = io.Copy(io.Discard, control)
			os.Exit(1) //nolint:revive // this is the main function of the first process
		}()
		s, err = runShell(c)
	}
	if err != nil {
		s.Fault = err.Error()
	}
	if err := json.NewEncoder(report).Encode(s); err != nil {
		return 1
	}
	return 0
}

func runShell(c config) (s status, err error) {
	// A descriptor that the worker got from its own parent must not reach the shell.
	if err := unix.CloseRange(controlFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return s, fmt.Errorf("close descriptors: %w", err)
	}
	// A process in the sandbox may have the same user, so every signal but SIGKILL, which the kernel ignores, needs a handler.
	signal.Notify(make(chan os.Signal, 1))
	unix.Umask(0o022)
	score, err := os.OpenFile("/proc/self/oom_score_adj", os.O_RDWR, 0)
	if err != nil {
		return s, err
	}
	defer score.Close()
	// Root may have set a minimum, such as a service manager that makes services end before others: no lower value can be written.
	ownScore := make([]byte, 16)
	n, err := score.Read(ownScore)
	if err != nil {
		return s, err
	}
	if err := enterRoot(c); err != nil {
		return s, err
	}
	if !c.HostNetwork {
		if err := startLoopback(); err != nil {
			return s, fmt.Errorf("start the loopback device: %w", err)
		}
	}
	if err := dropRights(); err != nil {
		return s, err
	}
	// When memory is short, the kernel kills a process of the script, and neither this process nor the worker.
	if _, err := score.WriteString("1000"); err != nil {
		return s, err
	}
	pid, err := startShell(c)
	if err != nil {
		s.NoDir = errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES)
		return s, fmt.Errorf("start /bin/sh: %w", err)
	}
	if _, err := score.Write(ownScore[:n]); err != nil {
		return s, err
	}
	return wait(pid)
}

// enterRoot replaces the files of the worker by those of the sandbox.
func enterRoot(c config) error {
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("separate the mounts: %w", err)
	}
	r, err := newRoot(c)
	if err != nil {
		return err
	}
	return r.enter()
}

func startLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	device, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	device.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, device)
}

// dropRights takes away what the script must not have, from this process or from the thread that starts the shell.
func dropRights() error {
	for resource, most := range map[int]uint64{
		// With 0, a program of the machine that core_pattern names would still get the memory of a process that crashes. 1 means none.
		unix.RLIMIT_CORE: 1, unix.RLIMIT_NOFILE: MaxOpenFiles, unix.RLIMIT_FSIZE: MaxFile, unix.RLIMIT_MEMLOCK: 64 << 10, unix.RLIMIT_MSGQUEUE: 0,
		unix.RLIMIT_NICE: 0, unix.RLIMIT_RTPRIO: 0,
	} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("set a limit: %w", err)
		}
	}
	// With this, no other process may read the memory or the descriptors of this one.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	for right := uintptr(0); ; right++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, right, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && right > unix.CAP_CHECKPOINT_RESTORE {
			break // the kernel has no more
		}
		if err != nil {
			return fmt.Errorf("drop a capability: %w", err)
		}
	}
	// The script inherits no capability, from whatever program it starts.
	var rights [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &rights[0]); err != nil {
		return err
	}
	rights[0].Inheritable, rights[1].Inheritable = 0, 0
	if err := unix.Capset(&header, &rights[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	// TSYNC of the filter below brings this bit to the other threads too.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return installFilter()
}

func startShell(c config) (pid int, err error) {
	attr := &syscall.ProcAttr{
		Dir: workspaceDir + "/" + c.Dir, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "HOME=" + tmpDir, "LANG=C.UTF-8"},
	}
	if c.ChangeUser {
		attr.Sys.Credential = &syscall.Credential{Uid: insideID, Gid: insideID}
	}
	return syscall.ForkExec("/bin/sh", []string{"sh", "-c", c.Script}, attr)
}

// wait reaps processes until the shell has ended.
func wait(shell int) (s status, err error) {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR) || pid != shell && err == nil:
			continue
		case err != nil:
			return s, err
		case ws.Signaled():
			return status{Exit: -1, Signal: int(ws.Signal())}, nil
		}
		return status{Exit: ws.ExitStatus()}, nil
	}
}
