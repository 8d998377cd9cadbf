//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package files

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// nonBlock makes opening a pipe return at once.
const nonBlock = syscall.O_NONBLOCK

// lock takes the advisory lock of f without waiting. It returns errTaken if
// another holds it, and errors.ErrUnsupported if the system has no such lock.
func lock(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var locked error
	err = conn.Control(func(fd uintptr) {
		locked = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB)
	})
	switch {
	case err != nil:
		return err
	case locked == nil:
		return nil
	case errors.Is(locked, syscall.EWOULDBLOCK):
		return errTaken
	}
	return errors.ErrUnsupported
}

// keepOwner gives f the owner and group of the file that it replaces, if they
// differ and the process may. It ignores an error: a file with another owner is
// better than no file.
func keepOwner(f *os.File, old fs.FileInfo) {
	info, err := f.Stat()
	if err != nil {
		return
	}
	want, ok := old.Sys().(*syscall.Stat_t)
	has, known := info.Sys().(*syscall.Stat_t)
	if ok && known && (has.Uid != want.Uid || has.Gid != want.Gid) {
		_ = f.Chown(int(want.Uid), int(want.Gid))
	}
}
