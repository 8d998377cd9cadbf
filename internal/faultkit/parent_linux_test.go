package faultkit_test

import "syscall"

// endWithParent ends a child with the test binary, even one that is stopped and
// cannot see that its standard input has ended.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
