//go:build !linux

package chaos

import "syscall"

// ownGroup is a process group; a worker notices by its standard input that the run is
// over.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
