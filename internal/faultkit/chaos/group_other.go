//go:build !linux

package chaos

import "syscall"

// ownGroup starts a process group of its own. A worker ends when the run closes its standard input.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
