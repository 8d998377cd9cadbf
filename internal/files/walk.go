package files

import (
	"context"
	"errors"
	"path"
	"slices"
	"sync/atomic"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// filesPerTask is how many files of a directory one goroutine visits before another may take the
// next ones.
const filesPerTask = 64

// Walk implements capability.Files.
func (w *Workspace) Walk(ctx context.Context, dir string, opts capability.WalkOptions, visit func(capability.Found) error) error {
	p, err := clean(dir)
	if err != nil {
		return err
	}
	k := &walk{Workspace: w, ctx: ctx, opts: opts, visit: visit}
	if k.include, err = newGlob(opts.Include); err != nil {
		return err
	}
	if k.exclude, err = newGlob(opts.Exclude); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := w.root.Stat(p)
	if err != nil {
		return w.fault(err)
	}
	switch typeOf(info.Mode()) {
	case capability.TypeDir:
		return k.tree(p)
	case capability.TypeFile:
		return k.one(p)
	default:
		return capability.ErrNotRegular
	}
}

// walk visits the files below base.
type walk struct {
	*Workspace
	tasks            tasks
	ctx              context.Context
	opts             capability.WalkOptions
	include, exclude glob
	base             string
	visit            func(capability.Found) error
	// rules counts the rules of the ignore files that were read: they are in memory.
	rules atomic.Int64
}

// one visits the file p.
func (k *walk) one(p string) error {
	k.base = path.Dir(p)
	name := path.Base(p)
	if !k.include.matches(k.base, k.base, name) || !k.exclude.everything() && k.exclude.matches(k.base, k.base, name) {
		return nil
	}
	return k.visit(&named{walk: k, path: p})
}

// tree visits the files below the directory p.
func (k *walk) tree(p string) error {
	k.base = p
	start := task{path: p}
	if k.opts.Ignore {
		start.rules = k.rulesAbove(p)
	}
	return k.tasks.work(start, k.run)
}

// run does one task. The visitor gets the error of a directory. But run returns the error of the directory at which
// the walk begins, and ErrIgnoreRules of any directory.
func (k *walk) run(t task) error {
	if k.tooManyRules() {
		return capability.ErrIgnoreRules
	}
	if t.files != nil {
		return k.visitFiles(t.dir, t.files)
	}
	d, err := k.openDir(t)
	var files []string
	if err == nil {
		defer k.tasks.release(d)
		files, err = k.read(d, t.rules)
	}
	switch {
	case err == nil:
		return k.visitFiles(d, files)
	case k.ctx.Err() != nil:
		return k.ctx.Err()
	case t.path == k.base, errors.Is(err, capability.ErrIgnoreRules):
		return err
	default:
		return k.visit(&named{walk: k, path: t.path, err: err})
	}
}

func (k *walk) tooManyRules() bool { return k.rules.Load() > capability.MaxIgnoreRules }

func (k *walk) openDir(t task) (*directory, error) {
	if err := k.ctx.Err(); err != nil {
		return nil, err
	}
	if len(t.path) > capability.MaxPath {
		return nil, capability.ErrBadPath
	}
	var h handle
	var err error
	if t.dir != nil {
		h, err = t.dir.openDir(t.name)
	} else {
		h, err = openHandle(k.root, t.path)
	}
	if err != nil {
		return nil, k.fault(err)
	}
	return k.tasks.hold(h, t.path), nil
}

// read reads a directory, makes tasks for its directories and for most of its files, and returns
// the files that have no task.
func (k *walk) read(d *directory, rules *ignoreRules) (files []string, err error) {
	entries, err := d.entries(k.ctx)
	if err != nil {
		return nil, k.fault(err)
	}
	if k.opts.Ignore {
		rules = k.rulesOf(d.handle, d.path, rules, entries)
		if k.tooManyRules() { // before all entries are matched against them
			return nil, capability.ErrIgnoreRules
		}
	}
	var todo []task
	for i, e := range entries {
		if i%filesPerTask == 0 {
			if err := k.ctx.Err(); err != nil {
				return nil, err
			}
		}
		switch isDir := e.typ == capability.TypeDir; {
		case !isDir && e.typ != capability.TypeFile, reserved(e.name):
		case isDir && slices.Contains(k.opts.SkipDirs, e.name):
		case !k.exclude.everything() && k.exclude.matches(k.base, d.path, e.name):
		case rules != nil && rules.ignores(d.path, e.name, isDir):
		case isDir:
			todo = append(todo, task{dir: d, path: join(d.path, e.name), name: e.name, rules: rules})
		case k.include.matches(k.base, d.path, e.name):
			files = append(files, e.name)
		}
	}
	for len(files) > filesPerTask {
		todo = append(todo, task{dir: d, files: files[:filesPerTask]})
		files = files[filesPerTask:]
	}
	k.tasks.push(todo)
	return files, nil
}

func (k *walk) visitFiles(d *directory, names []string) error {
	f := &found{walk: k, dir: d}
	for _, name := range names {
		if err := k.ctx.Err(); err != nil {
			return err
		}
		f.name = name
		if err := k.visit(f); err != nil {
			return err
		}
	}
	return nil
}

// join is path.Join for a clean directory and a name.
func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}
