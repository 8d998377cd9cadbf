// Package sandbox is the adapter that runs scripts for tools: it implements capability.Commands with
// namespaces, a filter of system calls and control groups of Linux.
//
// It must never run a script with fewer protections than its options say, give a script the environment, a
// descriptor or a file of the worker outside of the workspace, or put a part of a script or its output into an
// error. Only composition roots and commands that check the machine may import it.
//
// # How a script runs
//
// Run starts the program of the worker again, as the first process of new namespaces of users, processes, mounts,
// network, IPC and host names. That process (setup.go) waits until it is in its control group, builds a root
// directory, drops every right, and starts /bin/sh. It reaps processes, reports how the shell ended, and ends:
// the kernel then kills every process of the namespace. It also ends when the worker closes its pipe, which the
// death of the worker does, and by a signal of the kernel when its parent dies.
//
// The package has an init function, the only one of Pawl: the program that is started again is that of a user, and
// its main function must not run.
package sandbox
