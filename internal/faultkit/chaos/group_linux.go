package chaos

import "syscall"

// ownGroup starts a process group of its own and kills the worker when the run dies. A stopped
// worker cannot notice that its standard input is closed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
