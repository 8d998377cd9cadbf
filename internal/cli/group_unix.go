//go:build unix

package cli

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a terminal's Ctrl-C from the process: its parent stops it in
// the right order.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
