package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// Open implements capability.Files.
func (w *Workspace) Open(ctx context.Context, name string, limit int64) (io.ReadCloser, capability.Entry, error) {
	p, err := cleanFile(name)
	if err != nil {
		return nil, capability.Entry{}, err
	}
	if err := ctx.Err(); err != nil {
		return nil, capability.Entry{}, err
	}
	// Some devices act on being opened: look first.
	info, err := w.root.Stat(p)
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		return nil, capability.Entry{}, w.fault(err)
	}
	f, info, err := openRegular(w.root, p, os.O_RDONLY)
	if err != nil {
		return nil, capability.Entry{}, w.fault(err)
	}
	return &reader{ctx: ctx, file: f, fault: w.fault, left: limit}, entryOf(p, info), nil
}

// openRegular opens name without waiting for anybody and makes sure that what
// it has got is a regular file: the name may stand for another thing by now.
func openRegular(root *os.Root, name string, flag int) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, flag|nonBlock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func regular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return capability.ErrIsDir
	case !info.Mode().IsRegular():
		return capability.ErrNotRegular
	}
	return nil
}

// reader reads at most left bytes and heeds its context before each read.
type reader struct {
	ctx   context.Context
	file  *os.File
	fault func(error) error
	left  int64
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if r.left <= 0 {
		return 0, r.end()
	}
	n, err := r.file.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.fault(err)
	}
	return n, err
}

// end returns io.EOF if the file ends at the limit, and capability.ErrTooLarge if it is longer.
func (r *reader) end() error {
	var one [1]byte
	switch n, err := r.file.Read(one[:]); {
	case n > 0:
		return capability.ErrTooLarge
	case err == io.EOF:
		return io.EOF
	default:
		return r.fault(err)
	}
}

// Close implements io.Closer.
func (r *reader) Close() error { return r.fault(r.file.Close()) }
