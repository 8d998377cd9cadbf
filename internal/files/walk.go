package files

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// Walk implements capability.Files.
func (w *Workspace) Walk(ctx context.Context, dir string, opts capability.WalkOptions, visit func(capability.Entry, error) error) error {
	p, err := clean(dir)
	if err != nil {
		return err
	}
	include, err := newInclude(opts.Include)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := w.root.Stat(p)
	if err != nil {
		return w.fault(err)
	}
	k := walk{Workspace: w, ctx: ctx, include: include, skip: opts.SkipDirs, visit: visit}
	switch start := entryOf(p, info); start.Type {
	case capability.TypeDir:
		k.base = p
		entries, err := k.entries(p)
		if err != nil {
			return err
		}
		return k.all(entries)
	case capability.TypeFile:
		k.base = path.Dir(p)
		return k.one(start)
	default:
		return capability.ErrNotRegular
	}
}

type walk struct {
	*Workspace
	ctx     context.Context
	base    string
	include include
	skip    []string
	visit   func(capability.Entry, error) error
}

func (k *walk) all(entries []capability.Entry) error {
	for _, e := range entries {
		if err := k.ctx.Err(); err != nil {
			return err
		}
		if err := k.one(e); err != nil {
			return err
		}
	}
	return nil
}

func (k *walk) one(e capability.Entry) error {
	if e.Type != capability.TypeDir {
		if !k.include.matches(k.relative(e.Path)) {
			return nil
		}
		return k.visit(e, nil)
	}
	if slices.Contains(k.skip, path.Base(e.Path)) {
		return nil
	}
	if k.include.everything() {
		if err := k.visit(e, nil); err != nil {
			return err
		}
	}
	entries, err := k.entries(e.Path)
	if err != nil {
		if k.ctx.Err() != nil {
			return k.ctx.Err()
		}
		return k.visit(e, err)
	}
	return k.all(entries)
}

// entries reads a directory as a whole, since the order is by name. Its handle
// is closed before anything below is visited, so depth costs no descriptors.
func (k *walk) entries(dir string) ([]capability.Entry, error) {
	if len(dir) > capability.MaxPath {
		return nil, capability.ErrBadPath
	}
	var all []capability.Entry
	err := k.readDir(k.ctx, dir, func(entries []capability.Entry) error {
		all = append(all, entries...)
		if len(all) > capability.MaxDirEntries {
			return capability.ErrTooLarge
		}
		return nil
	})
	return first(all, len(all)), err
}

func (k *walk) relative(p string) string {
	if k.base == "." {
		return p
	}
	return strings.TrimPrefix(p, k.base+"/")
}
