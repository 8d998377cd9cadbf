package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// tempPrefix begins the name of every temporary file and of nothing else.
const tempPrefix = ".pawl-tmp-"

// tempSlots is how many writers may replace one file at a time. Fixed names let
// a writer find what others left without reading the directory.
const tempSlots = 16

// chunk is how much is written between two looks at the context, in bytes.
const chunk = 1 << 20

func reserved(name string) bool { return strings.HasPrefix(name, tempPrefix) }

// temp is a temporary file that its writer holds locked. A process that gets the
// lock of a file that it has not made knows that the writer has died: the system
// drops the locks of a process at its end.
type temp struct {
	dir  *os.Root
	name string // empty once renamed
	file *os.File
}

// errTaken says that another process holds a lock.
var errTaken = errors.New("the lock is taken")

// newTemp removes the temporary files of crashed writers of base in dir, and makes a
// new temporary file for base with the permissions perm. ErrBusy says that every name
// of a temporary file is in use.
func newTemp(dir *os.Root, base string, perm fs.FileMode) (*temp, error) {
	names := tempNames(base)
	for _, name := range names {
		removeAbandoned(dir, name)
	}
	for _, name := range names {
		f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		// Between the two lines another writer may have taken the new file for
		// an abandoned one: it holds the lock then, or has removed the name.
		// On a system without locks, no writer removes abandoned files.
		if !errors.Is(lock(f), errTaken) && stillNamed(dir, name, f) {
			return &temp{dir: dir, name: name, file: f}, nil
		}
		_ = f.Close()
	}
	return nil, capability.ErrBusy
}

func tempNames(base string) []string {
	sum := sha256.Sum256([]byte(base))
	names := make([]string, tempSlots)
	for i := range names {
		names[i] = tempPrefix + hex.EncodeToString(sum[:8]) + "-" + strconv.Itoa(i)
	}
	return names
}

// removeAbandoned removes name if it is a temporary file without a writer. It is
// housekeeping: what it cannot remove does not stop the new writer.
func removeAbandoned(dir *os.Root, name string) {
	info, err := dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	f, _, err := openRegular(dir, name, os.O_RDONLY)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	// Take the lock first and then check the name: a writer that has just renamed its
	// file drops the lock too, and the name may now belong to another file.
	if lock(f) == nil && stillNamed(dir, name, f) {
		_ = dir.Remove(name)
	}
}

// stillNamed reports whether name still stands for the open file f.
func stillNamed(dir *os.Root, name string, f *os.File) bool {
	named, err := dir.Lstat(name)
	if err != nil {
		return false
	}
	opened, err := f.Stat()
	return err == nil && os.SameFile(named, opened)
}

// fill writes the content durably and copies the permissions of old, which is
// nil for a new file.
func (t *temp) fill(ctx context.Context, content io.Reader, old fs.FileInfo) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := io.CopyN(t.file, content, chunk)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if old != nil {
		keepOwner(t.file, old)
		if err := t.file.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := t.file.Sync(); err != nil {
		return err
	}
	return ctx.Err()
}

// publish renames the file to base. The lock is held until after that, or
// somebody might take the file for abandoned.
func (t *temp) publish(base string) error {
	if err := t.dir.Rename(t.name, base); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return capability.ErrIsDir // a directory has come up there
		}
		return err
	}
	t.name = ""
	return nil
}

// discard removes the file unless it has been published, and lets go of it. An
// error of closing says nothing: what counts has been synced.
func (t *temp) discard() {
	if t.name != "" {
		_ = t.dir.Remove(t.name)
	}
	_ = t.file.Close()
}
