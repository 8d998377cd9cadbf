package faultkit_test

import "syscall"

// endWithParent kills the child when the test binary ends. A stopped child cannot notice that its
// standard input is closed.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
