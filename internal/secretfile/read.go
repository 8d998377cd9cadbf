package secretfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// others are the permissions of everybody but the owner. ofRoot are those of them that a file of root must not have either, if
// the process is another user. Then the owner cannot be the reader, so root has given the file to a group: kubelet does so for the
// volume of a Secret, and systemd for a credential. libpq has the same rule for its keys.
const (
	others = 0o077
	ofRoot = 0o037
)

// isOpen reports whether permissions of a file let a user read it who should not. owner is the user id of the owner of the file, self
// the user id of the process.
func isOpen(mode fs.FileMode, owner, self int) bool {
	if owner == 0 && self != 0 {
		return mode.Perm()&ofRoot != 0
	}
	return mode.Perm()&others != 0
}

// Read returns the contents of the file, at most limit bytes. A file that its group
// or others may read is refused, and so is what is no regular file. The group may read a file of
// root if the process is another user. Windows has no such permissions, and there they are not looked at.
func Read(path string, limit int64) ([]byte, error) {
	text, _, err := ReadInfo(path, limit)
	return text, err
}

// ReadInfo does what Read does, and also returns the info of the file, by which the caller sees later whether the file has changed.
func ReadInfo(path string, limit int64) ([]byte, fs.FileInfo, error) {
	// O_NONBLOCK: opening a named pipe without a writer must not block. The pipe is refused below.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	return read(f, path, limit, false)
}

// ReadPiped is Read for a secret that a person gives once. It also accepts a pipe, such as the pipe
// of a shell command, <(command), and waits for its data. No other process reads the data of a
// pipe.
func ReadPiped(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	text, _, err := read(f, path, limit, true)
	return text, err
}

func read(f *os.File, path string, limit int64, piped bool) ([]byte, fs.FileInfo, error) {
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, nil, err
	case piped && info.Mode().Type() == fs.ModeNamedPipe:
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%s is no regular file", path)
	case runtime.GOOS != "windows" && isOpen(info.Mode(), owner(info), os.Geteuid()):
		return nil, nil, fmt.Errorf("%s may be read by others than its owner (mode %04o): chmod 600 it, and consider whether somebody has", path, info.Mode().Perm())
	}
	text, err := Limited(f, path, limit)
	return text, info, err
}

// Limited reads a reader to its end, at most limit bytes. name is the name of the reader in errors.
func Limited(in io.Reader, name string, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	if err != nil {
		clear(text)
		return nil, err
	}
	return text, nil
}
