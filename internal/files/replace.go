package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// maxLinks bounds the symbolic links that Replace follows for one path, as
// os.Root bounds its own.
const maxLinks = 8

// Replace implements capability.Files.
func (w *Workspace) Replace(ctx context.Context, name string, content []byte, opts capability.ReplaceOptions) error {
	return w.ReplaceFrom(ctx, name, bytes.NewReader(content), opts)
}

// ReplaceFrom implements capability.Files.
func (w *Workspace) ReplaceFrom(ctx context.Context, name string, content io.Reader, opts capability.ReplaceOptions) error {
	p, err := cleanFile(name)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	dir, base := path.Dir(p), path.Base(p)
	if !opts.NoLinks {
		if dir, base, err = w.target(p); err != nil {
			return err
		}
	}
	if opts.CreateDirs {
		if err := w.makeDirs(dir); err != nil {
			return w.fault(err)
		}
	}
	// One handle for all steps: the directory may be renamed between them.
	parent, err := w.openParent(dir, opts.NoLinks)
	if err != nil {
		return w.fault(err)
	}
	defer func() { _ = parent.Close() }()
	if opts.NoLinks {
		if info, err := parent.Lstat(base); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return capability.ErrChanged
		}
	}
	return w.fault(replace(ctx, parent, base, content, opts.If))
}

// openParent opens a directory. Without links, it opens one directory in another, so that none of them can be
// swapped for a symbolic link meanwhile.
func (w *Workspace) openParent(dir string, noLinks bool) (*os.Root, error) {
	if !noLinks || dir == "." {
		return w.root.OpenRoot(inside(dir))
	}
	at := w.root
	for part := range strings.SplitSeq(dir, "/") {
		next, err := openPlain(at, part)
		if at != w.root {
			_ = at.Close()
		}
		if errors.Is(err, capability.ErrNotDir) {
			err = capability.ErrChanged
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// target follows the symbolic links in the last part of p and returns where the
// file stands or will stand. What os.Root would follow on opening has to be
// followed by hand, for a rename replaces the link.
func (w *Workspace) target(p string) (dir, base string, err error) {
	for range maxLinks + 1 { // the last turn is for the file that the last link leads to
		info, err := w.root.Lstat(p)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", "", w.fault(err)
		}
		dir, base = path.Split(p)
		dir = strings.TrimSuffix(dir, "/")
		if dir == "" {
			dir = "."
		}
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			if base == "" || base == "." || base == ".." {
				return "", "", capability.ErrIsDir
			}
			if reserved(base) {
				return "", "", capability.ErrBadPath
			}
			return dir, base, nil
		}
		link, err := w.root.Readlink(p)
		if err != nil {
			return "", "", w.fault(err)
		}
		if path.IsAbs(link) {
			return "", "", capability.ErrOutside
		}
		// Not path.Join: it resolves ".." by the text, and a part of dir may be
		// a link itself. os.Root resolves it by the directories.
		p = dir + "/" + link
	}
	return "", "", capability.ErrBadPath
}

// replace swaps the content of base in the directory parent, if base has the content that expected
// says.
func replace(ctx context.Context, parent *os.Root, base string, content io.Reader, expected string) error {
	old, err := replaceable(parent, base)
	if err != nil {
		return err
	}
	// The system's default for a new file. What will replace a private file
	// must be private while it is written.
	perm := fs.FileMode(0o666)
	if old != nil {
		perm = 0o600
	}
	temp, err := newTemp(parent, base, perm)
	if err != nil {
		return err
	}
	defer temp.discard()
	if err := temp.fill(ctx, content, old); err != nil {
		return err
	}
	// Check the content last, so that others have little time to change it.
	if err := hasContent(ctx, parent, base, expected); err != nil {
		return err
	}
	if err := temp.publish(base); err != nil {
		return err
	}
	return syncDir(parent, ".")
}

// replaceable returns the info of the file at base, or nil if there is none. It opens
// the file for writing, and writes nothing: a rename over a file needs no right to
// write the file, but a read-only file must not be replaced.
func replaceable(parent *os.Root, base string) (fs.FileInfo, error) {
	info, err := parent.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		return nil, err
	}
	f, opened, err := openRegular(parent, base, os.O_WRONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, syscall.ETXTBSY):
		// A running program may be replaced; only writing into it is refused.
		return info, nil
	case err != nil:
		return nil, err
	}
	return opened, f.Close()
}

// makeDirs makes dir and what is missing above it, durably.
func (w *Workspace) makeDirs(dir string) error {
	if _, err := w.root.Stat(dir); err == nil {
		return nil // if it is no directory, opening it will say so
	}
	if err := w.root.MkdirAll(dir, 0o777); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return capability.ErrNotDir
		}
		return err
	}
	top, err := w.root.Stat(".")
	if err != nil {
		return err
	}
	for {
		dir += "/.." // not path.Dir, for the same reason as in target
		if err := syncDir(w.root, dir); err != nil {
			return err
		}
		if info, err := w.root.Stat(dir); err != nil || os.SameFile(info, top) {
			return err
		}
	}
}

// syncDir makes renames in a directory durable, where the file system can.
func syncDir(root *os.Root, dir string) error {
	f, err := root.Open(inside(dir))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
