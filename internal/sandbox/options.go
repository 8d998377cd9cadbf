package sandbox

import (
	"errors"
	"fmt"
	"slices"
)

// Names of protections. Those that a Sandbox may lack are in CanLack.
const (
	// User: the script does not run as root of the machine.
	User = "user"
	// Network: the script has a network of its own, with nothing but a loopback device.
	Network = "network"
	// Files: the script sees system directories read-only, its workspace, and directories of its own for temporary
	// files, devices and processes.
	Files = "files"
	// Privileges: the script has no capability and gets none from a program that it starts.
	Privileges = "privileges"
	// Syscalls: a filter refuses system calls that a script does not need and that attacks use.
	Syscalls = "syscalls"
	// Cgroup: processes and memory of all processes together are limited.
	Cgroup = "cgroup"
	// CPU: with Cgroup, processor time is limited, too. It is missing where the worker has no controller for it.
	CPU = "cpu"
	// Swap: with Cgroup, scripts cannot use swap. It is missing where the kernel does not count swap.
	Swap = "swap"
)

// CanLack has the protections that an operator may do without.
func CanLack() []string { return []string{Cgroup, Network, User} }

// Limits of every script, over all of its processes.
const (
	// MaxProcesses bounds processes and threads.
	MaxProcesses = 256
	// MaxMemory bounds memory and the files in /tmp, in bytes, if the options do not say otherwise.
	MaxMemory = 2 << 30
	// MaxTmp bounds the files in /tmp, in bytes.
	MaxTmp = 512 << 20
	// MaxFile bounds each file that is written, in bytes.
	MaxFile = 1 << 30
	// MaxOpenFiles bounds the descriptors of one process.
	MaxOpenFiles = 1024
)

// Options configure a Sandbox.
type Options struct {
	// Workspace is the directory that scripts may change. It must not contain directories of the machine, such as /etc, or the program of
	// the worker.
	Workspace string
	// Without has the protections that the sandbox does without.
	Without []string
	// Memory bounds the memory of a script and its files in /tmp, in bytes; 0 means MaxMemory.
	Memory int64
}

// ErrUnsupported says that this system has no sandbox.
var ErrUnsupported = errors.New("a shell needs Linux 5.12 or later on amd64 or arm64")

func (o Options) check() error {
	for _, name := range o.Without {
		if !slices.Contains(CanLack(), name) {
			return fmt.Errorf("%q is no protection that a shell can do without: these are %v", name, CanLack())
		}
	}
	return nil
}

// protections returns the names of the protections that are on, sorted. limits are those that the control groups of
// this machine add to Cgroup.
func (o Options) protections(limits []string) []string {
	on := append([]string{Files, Privileges, Syscalls}, limits...)
	for _, name := range CanLack() {
		if !slices.Contains(o.Without, name) {
			on = append(on, name)
		}
	}
	slices.Sort(on)
	return on
}

func (o Options) lacks(name string) bool { return slices.Contains(o.Without, name) }
