// Package filelock is a lock between processes: an advisory lock on a file that the kernel drops when its last holder dies.
//
// It must never be taken for a lock between goroutines, and never sit on a network file system.
package filelock
