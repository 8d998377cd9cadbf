//go:build linux && !portable

package files

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// handle is an open directory. It opens a name in that directory, never a path and never through a
// symbolic link. So nothing leads out of the directory, even if a program swaps its entries meanwhile.
// It needs one system call; os.Root needs one for each part of a path.
type handle struct {
	fd   int
	file *os.File // owns fd, for the directory at which a walk begins; else nil
}

// dirent is an entry of a directory.
type dirent struct {
	name string
	typ  capability.EntryType
}

// openHandle opens the directory at a path of a workspace.
func openHandle(root *os.Root, path string) (handle, error) {
	f, err := root.Open(inside(path))
	if err != nil {
		return handle{}, err
	}
	return handle{fd: int(f.Fd()), file: f}, nil
}

func (h handle) close() {
	if h.file != nil {
		_ = h.file.Close()
		return
	}
	_ = unix.Close(h.fd)
}

// openDir opens the directory name in h.
func (h handle) openDir(name string) (handle, error) {
	fd, err := again(func() (int, error) {
		return unix.Openat(h.fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	return handle{fd: fd}, err
}

// entries reads the directory, at most capability.MaxDirEntries of it.
func (h handle) entries(ctx context.Context) ([]dirent, error) {
	var all []dirent
	buf := make([]byte, 16<<10)
	for {
		n, err := again(func() (int, error) { return unix.Getdents(h.fd, buf) })
		if err != nil || n <= 0 {
			return all, err
		}
		for rest := buf[:n]; len(rest) > 0; {
			// struct linux_dirent64: the inode, an offset, the length of the entry, the type, the name.
			length := binary.NativeEndian.Uint16(rest[16:])
			name := unix.ByteSliceToString(rest[19:length])
			typ := rest[18]
			rest = rest[length:]
			if name == "." || name == ".." {
				continue
			}
			all = append(all, dirent{name, h.typeOf(name, typ)})
		}
		if len(all) > capability.MaxDirEntries {
			return nil, capability.ErrTooLarge
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// typeOf is the type of an entry. Not every file system has it in the directory.
func (h handle) typeOf(name string, typ byte) capability.EntryType {
	switch typ {
	case unix.DT_REG:
		return capability.TypeFile
	case unix.DT_DIR:
		return capability.TypeDir
	case unix.DT_LNK:
		return capability.TypeSymlink
	case unix.DT_UNKNOWN:
		if e, err := h.stat(name); err == nil {
			return e.Type
		}
	}
	return capability.TypeOther
}

// stat describes name in h, without its path.
func (h handle) stat(name string) (capability.Entry, error) {
	var st unix.Stat_t
	_, err := again(func() (int, error) { return 0, unix.Fstatat(h.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return capability.Entry{}, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return capability.Entry{Type: capability.TypeFile, Size: st.Size, Modified: time.Unix(st.Mtim.Unix())}, nil
	case unix.S_IFDIR:
		return capability.Entry{Type: capability.TypeDir}, nil
	case unix.S_IFLNK:
		return capability.Entry{Type: capability.TypeSymlink}, nil
	}
	return capability.Entry{Type: capability.TypeOther}, nil
}

// openFile opens the regular file name in h, and returns its size. The directory said that it is a
// file; if the name is another thing by now, it is opened without waiting and refused.
func (h handle) openFile(ctx context.Context, name string, fault func(error) error) (io.ReadCloser, int64, error) {
	fd, err := again(func() (int, error) {
		return unix.Openat(h.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, 0, fault(err)
	}
	var st unix.Stat_t
	if _, err = again(func() (int, error) { return 0, unix.Fstat(fd, &st) }); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = capability.ErrNotRegular
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, 0, fault(err)
	}
	return &fdReader{ctx: ctx, fd: fd, fault: fault, left: st.Size}, st.Size, nil
}

// fdReader reads a file to the size that it had when it was opened, without the system call that
// would find its end.
type fdReader struct {
	ctx   context.Context
	fd    int
	fault func(error) error
	left  int64
}

// Read implements io.Reader.
func (r *fdReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if r.left <= 0 {
		return 0, io.EOF
	}
	n, err := again(func() (int, error) { return unix.Read(r.fd, p[:min(int64(len(p)), r.left)]) })
	switch {
	case err != nil:
		return 0, r.fault(err)
	case n == 0 && len(p) > 0: // the file has become shorter
		r.left = 0
		return 0, io.EOF
	}
	if r.left -= int64(n); r.left == 0 {
		return n, io.EOF
	}
	return n, nil
}

// Close implements io.Closer.
func (r *fdReader) Close() error {
	fd := r.fd
	r.fd = -1
	if fd < 0 {
		return os.ErrClosed
	}
	return r.fault(unix.Close(fd))
}

// again repeats a system call that a signal interrupted.
func again(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
