//go:build unix

package secretfile

import (
	"io/fs"
	"syscall"
)

// owner returns the user id of the owner of a file, -1 if it is not known.
func owner(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
