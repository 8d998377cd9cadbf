//go:build unix

package seal

import (
	"os"
	"syscall"
)

// keepOwner gives a file to the owner of another: where root changes a key ring,
// its worker can read it still.
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
