//go:build !linux || portable

package files

import (
	"context"
	"io"
	"os"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// handle is an open directory that opens its entries. Tests on Linux use this file with the build
// tag portable.
type handle struct{ root *os.Root }

// dirent is an entry of a directory.
type dirent struct {
	name string
	typ  capability.EntryType
}

// openHandle opens the directory at a path of a workspace.
func openHandle(root *os.Root, path string) (handle, error) {
	sub, err := root.OpenRoot(inside(path))
	return handle{sub}, err
}

func (h handle) close() { _ = h.root.Close() }

// openDir opens the directory name in h.
func (h handle) openDir(name string) (handle, error) { return openHandle(h.root, name) }

// entries reads the directory, at most capability.MaxDirEntries of it.
func (h handle) entries(ctx context.Context) ([]dirent, error) {
	f, err := h.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	var all []dirent
	for {
		found, err := f.ReadDir(batch)
		for _, e := range found {
			all = append(all, dirent{e.Name(), typeOf(e.Type())})
		}
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(all) > capability.MaxDirEntries {
			return nil, capability.ErrTooLarge
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// stat describes name in h, without its path.
func (h handle) stat(name string) (capability.Entry, error) {
	info, err := h.root.Lstat(name)
	if err != nil {
		return capability.Entry{}, err
	}
	return entryOf("", info), nil
}

// openFile opens the regular file name in h, and returns its size.
func (h handle) openFile(ctx context.Context, name string, fault func(error) error) (io.ReadCloser, int64, error) {
	e, err := h.stat(name)
	if err == nil && e.Type != capability.TypeFile {
		err = capability.ErrNotRegular
	}
	if err != nil {
		return nil, 0, fault(err)
	}
	f, info, err := openRegular(h.root, name, os.O_RDONLY)
	if err != nil {
		return nil, 0, fault(err)
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(&reader{ctx: ctx, file: f, fault: fault, left: info.Size()}, info.Size()), f}, info.Size(), nil
}
