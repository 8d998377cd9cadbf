//go:build !unix

package supervise

import (
	"errors"
	"os"
	"os/exec"
)

var errNotUnix = errors.New("starting servers needs Linux, macOS or another Unix: run this under WSL")

func detach(*exec.Cmd, *Account) error { return errNotUnix }

func (s Signal) number() (os.Signal, error) { return nil, errUnknownSignal }

func signalGroup(int, os.Signal) error { return errNotUnix }
