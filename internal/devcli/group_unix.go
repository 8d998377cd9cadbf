//go:build unix

package devcli

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the process of cmd into a process group of its own, so that Ctrl-C in the
// terminal does not reach the process. The parent process stops it in the right order.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
