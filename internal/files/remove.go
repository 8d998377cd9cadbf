package files

import (
	"context"
	"os"
	"path"
	"syscall"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// Stat implements capability.Files.
func (w *Workspace) Stat(ctx context.Context, name string) (capability.Entry, error) {
	p, err := clean(name)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return capability.Entry{}, err
	}
	info, err := w.root.Lstat(p)
	if err != nil {
		return capability.Entry{}, w.fault(err)
	}
	return entryOf(p, info), nil
}

// Remove implements capability.Files.
func (w *Workspace) Remove(ctx context.Context, name string, opts capability.RemoveOptions) error {
	p, err := clean(name)
	if err == nil && p == "." {
		err = capability.ErrIsDir // the workspace itself stays
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	// All steps use one handle of the directory, because another program may rename the directory between two steps.
	parent, err := w.openParent(path.Dir(p), opts.NoLinks)
	if err != nil {
		return w.fault(err)
	}
	defer func() { _ = parent.Close() }()
	return w.fault(remove(ctx, parent, path.Base(p), opts.If))
}

// remove removes base from the directory parent, durably.
func remove(ctx context.Context, parent *os.Root, base, expected string) error {
	info, err := parent.Lstat(base)
	if err != nil {
		return err
	}
	kind := typeOf(info.Mode())
	switch {
	case kind == capability.TypeOther:
		return capability.ErrNotRegular
	case kind == capability.TypeFile:
		if _, err := replaceable(parent, base); err != nil { // a read-only file is meant to stay
			return err
		}
		if err := hasContent(ctx, parent, base, expected); err != nil {
			return err
		}
	case expected != "" && expected != string(kind):
		return capability.ErrChanged
	case kind == capability.TypeDir:
		if err := sweep(parent, base); err != nil {
			return err
		}
	}
	if err := parent.Remove(base); err != nil {
		return err
	}
	return syncDir(parent, ".")
}

// sweep removes the abandoned temporary files of a directory: tools do not see them, and they would
// keep the directory from being removed.
func sweep(parent *os.Root, dir string) error {
	root, err := parent.OpenRoot(inside(dir))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	f, err := root.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	found, err := f.ReadDir(batch)
	if err != nil && len(found) == 0 {
		return nil // the directory is empty, or its removal says why it cannot be read
	}
	for _, d := range found {
		if !reserved(d.Name()) {
			return syscall.ENOTEMPTY
		}
	}
	for _, d := range found {
		removeAbandoned(root, d.Name())
	}
	return nil
}
