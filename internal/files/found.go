package files

import (
	"io"
	"math"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// found is a file in an open directory.
type found struct {
	walk *walk
	dir  *directory
	name string
}

// Path implements capability.Found.
func (f *found) Path() string { return join(f.dir.path, f.name) }

// Err implements capability.Found.
func (f *found) Err() error { return nil }

// Stat implements capability.Found.
func (f *found) Stat() (capability.Entry, error) {
	e, err := f.dir.stat(f.name)
	if err == nil && e.Type != capability.TypeFile {
		err = capability.ErrNotRegular
	}
	if err != nil {
		return capability.Entry{}, f.walk.fault(err)
	}
	e.Path = f.Path()
	return e, nil
}

// Open implements capability.Found.
func (f *found) Open() (io.ReadCloser, int64, error) {
	return f.dir.openFile(f.walk.ctx, f.name, f.walk.fault)
}

// named is a file or directory that a walk knows by its path only: the file that it began at, or a
// directory that it could not read.
type named struct {
	walk *walk
	path string
	err  error
}

// Path implements capability.Found.
func (n *named) Path() string { return n.path }

// Err implements capability.Found.
func (n *named) Err() error { return n.err }

// Stat implements capability.Found.
func (n *named) Stat() (capability.Entry, error) {
	info, err := n.walk.root.Stat(n.path)
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		return capability.Entry{}, n.walk.fault(err)
	}
	return entryOf(n.path, info), nil
}

// Open implements capability.Found.
func (n *named) Open() (io.ReadCloser, int64, error) {
	r, e, err := n.walk.Open(n.walk.ctx, n.path, math.MaxInt64)
	if err != nil {
		return nil, 0, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(r, e.Size), r}, e.Size, nil
}
