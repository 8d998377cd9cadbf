//go:build unix

package seal

import (
	"os"
	"syscall"
)

// keepOwner gives a file the owner of the file that it replaces: if root changes
// a key ring, the worker can still read it.
func keepOwner(file *os.File, like string) error {
	info, err := os.Stat(like)
	if err != nil {
		return err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return file.Chown(int(s.Uid), int(s.Gid))
	}
	return nil
}
