//go:build unix

package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// detach puts the command into a session of its own and, with an account, under that user with no further groups.
func detach(cmd *exec.Cmd, account *Account) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if account != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: account.UID, Gid: account.GID}
	}
	return nil
}

func (s Signal) number() (os.Signal, error) {
	switch s {
	case Interrupt:
		return syscall.SIGINT, nil
	case Terminate:
		return syscall.SIGTERM, nil
	case Quit:
		return syscall.SIGQUIT, nil
	case Kill:
		return syscall.SIGKILL, nil
	}
	return nil, fmt.Errorf("%w: %q", errUnknownSignal, string(s))
}

func signalGroup(leader int, signal os.Signal) error {
	number, ok := signal.(syscall.Signal)
	if !ok {
		return errUnknownSignal
	}
	return syscall.Kill(-leader, number)
}
