package chaos

import "syscall"

// ownGroup is a process group that dies with the run, even a stopped one that
// could not notice that its standard input is closed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
