package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/pawl-run/pawl/internal/lru"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// maxOpen bounds the workspaces that are held open. A closed workspace is opened again for the next call that needs it.
const maxOpen = 256

// The parts of a path that stand for an id of the call.
const (
	tenantPart = "{tenant}"
	runPart    = "{run}"
)

// Workspaces are the workspaces of a worker: one for all calls, one for each tenant, or one for each
// run. It is safe for concurrent use.
type Workspaces struct {
	base *Workspace
	// parts are the directories below base; none means one workspace for all calls.
	parts []string

	mu   sync.Mutex
	open *lru.Cache[string, *held]
}

// held is an open workspace with the number of operations on it.
type held struct {
	*Workspace
	uses    int
	dropped bool
}

// OpenAll opens the workspaces of a path: a directory, or a directory with parts below it of which
// {tenant} and {run} stand for the ids of the call, such as /srv/work/{tenant}/{run}. The directory in
// front of the first such part must exist; the others are made for their owner alone when a call needs
// them, also if they were deleted meanwhile. Close the workspaces when no call uses them any more.
func OpenAll(path string) (*Workspaces, error) {
	dir, parts, err := splitTemplate(path)
	if err != nil {
		return nil, err
	}
	base, err := Open(dir)
	if err != nil {
		return nil, err
	}
	w := &Workspaces{base: base, parts: parts}
	w.open = lru.New(maxOpen, func(_ string, h *held) { // under mu
		if h.dropped = true; h.uses == 0 {
			_ = h.Close()
		}
	})
	return w, nil
}

func splitTemplate(path string) (dir string, parts []string, err error) {
	i := strings.IndexByte(path, '{')
	if i < 0 {
		return path, nil, nil
	}
	i = strings.LastIndexByte(filepath.ToSlash(path[:i]), '/') + 1
	parts = strings.Split(strings.TrimSuffix(filepath.ToSlash(path[i:]), "/"), "/")
	for n, part := range parts {
		switch {
		case part == runPart && !slices.Contains(parts[:n], tenantPart):
			return "", nil, errors.New("{run} needs {tenant} in front of it: tenants may have runs of the same id")
		case part == tenantPart || part == runPart:
			if slices.Contains(parts[:n], part) {
				return "", nil, fmt.Errorf("%s is there twice", part)
			}
		case part == "" || part == "." || part == ".." || strings.ContainsAny(part, "{}") || reserved(part):
			return "", nil, fmt.Errorf("%q is neither {tenant} nor {run} nor the name of a directory", part)
		}
	}
	if path[:i] == "" {
		return ".", parts, nil
	}
	return path[:i], parts, nil
}

// Close lets go of all workspaces. Calls after it fail.
func (w *Workspaces) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = lru.New[string, *held](1, nil)
	return w.base.Close()
}

// For returns the workspace of a call.
func (w *Workspaces) For(c toolspec.Context) capability.Files {
	if len(w.parts) == 0 {
		return w.base
	}
	names := make([]string, len(w.parts))
	for i, part := range w.parts {
		switch part {
		case tenantPart:
			names[i] = dirName(c.TenantID)
		case runPart:
			names[i] = dirName(c.RunID)
		default:
			names[i] = part
		}
	}
	return workspaceOf{w, names}
}

// dirName returns the name of a directory for an id: small letters, digits, - and _ stay, and so does a
// dot that is neither the first nor the last character; every other byte is = and its two hexadecimal
// digits. Two ids have two names, also on a file system that does not distinguish A and a.
func dirName(id string) string {
	var b strings.Builder
	for i := range len(id) {
		c := id[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_', c == '.' && i > 0 && i < len(id)-1:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02x", c)
		}
	}
	return b.String()
}

// acquire returns the open workspace. release must be called once.
func (w *Workspaces) acquire(names []string) (_ *Workspace, release func(), err error) {
	key := strings.Join(names, "/")
	w.mu.Lock()
	h, ok := w.open.Get(key)
	if ok {
		h.uses++
	}
	w.mu.Unlock()
	if ok && !w.isAt(h, names) {
		w.mu.Lock()
		if now, _ := w.open.Get(key); now == h {
			w.open.Remove(key)
			h.dropped = true
		}
		w.mu.Unlock()
		w.release(h)
		ok = false
	}
	if !ok {
		made, err := w.make(names) // may take long on a file system in the network
		if err != nil {
			return nil, nil, w.base.fault(err)
		}
		w.mu.Lock()
		if h = w.open.GetOrAdd(key, func() *held { return &held{Workspace: made} }); h.Workspace != made {
			_ = made.Close()
		}
		h.uses++
		w.mu.Unlock()
	}
	return h.Workspace, func() { w.release(h) }, nil
}

func (w *Workspaces) release(h *held) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h.uses--; h.uses == 0 && h.dropped {
		_ = h.Close()
	}
}

// isAt reports whether an open workspace is still the directory at its path: an operator may have deleted it
// since, or put another one there.
func (w *Workspaces) isAt(h *held, names []string) bool {
	named, err := w.base.root.Lstat(strings.Join(names, "/"))
	if err != nil {
		return false
	}
	opened, err := h.root.Stat(".")
	return err == nil && os.SameFile(named, opened)
}

// make opens the directories one in another, and makes those that are missing. It follows no symbolic
// link: one in the place of a directory could lead to the workspace of another tenant.
func (w *Workspaces) make(names []string) (*Workspace, error) {
	root, err := w.base.root.OpenRoot(".")
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		var next *os.Root
		next, err = step(root, name)
		_ = root.Close()
		root = next
	}
	if err != nil {
		return nil, err
	}
	return &Workspace{root: root, escape: w.base.escape}, nil
}

func step(root *os.Root, name string) (*os.Root, error) {
	if name == "" {
		return nil, capability.ErrBadPath
	}
	if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return openPlain(root, name)
}

// openPlain opens a directory that is not a symbolic link.
func openPlain(root *os.Root, name string) (*os.Root, error) {
	named, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !named.IsDir() {
		return nil, capability.ErrNotDir
	}
	next, err := root.OpenRoot(inside(name))
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err != nil || !os.SameFile(named, opened) { // it has been swapped meanwhile
		_ = next.Close()
		return nil, errors.Join(err, capability.ErrNotDir)
	}
	return next, nil
}

// workspaceOf is the workspace of a call. It is open while an operation runs.
type workspaceOf struct {
	all   *Workspaces
	names []string
}

var _ capability.Files = workspaceOf{}

func (f workspaceOf) with(do func(*Workspace) error) error {
	w, release, err := f.all.acquire(f.names)
	if err != nil {
		return err
	}
	defer release()
	return do(w)
}

// List implements capability.Files.
func (f workspaceOf) List(ctx context.Context, dir string, limit int) (l capability.Listing, err error) {
	err = f.with(func(w *Workspace) (err error) { l, err = w.List(ctx, dir, limit); return err })
	return l, err
}

// Open implements capability.Files. The file stays open when the workspace is closed.
func (f workspaceOf) Open(ctx context.Context, path string, limit int64) (r io.ReadCloser, e capability.Entry, err error) {
	err = f.with(func(w *Workspace) (err error) { r, e, err = w.Open(ctx, path, limit); return err })
	return r, e, err
}

// Walk implements capability.Files.
func (f workspaceOf) Walk(ctx context.Context, dir string, opts capability.WalkOptions, visit func(capability.Found) error) error {
	return f.with(func(w *Workspace) error { return w.Walk(ctx, dir, opts, visit) })
}

// Replace implements capability.Files.
func (f workspaceOf) Replace(ctx context.Context, path string, content []byte, opts capability.ReplaceOptions) error {
	return f.with(func(w *Workspace) error { return w.Replace(ctx, path, content, opts) })
}

// ReplaceFrom implements capability.Files.
func (f workspaceOf) ReplaceFrom(ctx context.Context, path string, content io.Reader, opts capability.ReplaceOptions) error {
	return f.with(func(w *Workspace) error { return w.ReplaceFrom(ctx, path, content, opts) })
}

// Stat implements capability.Files.
func (f workspaceOf) Stat(ctx context.Context, path string) (e capability.Entry, err error) {
	err = f.with(func(w *Workspace) (err error) { e, err = w.Stat(ctx, path); return err })
	return e, err
}

// Resolve implements capability.Files.
func (f workspaceOf) Resolve(ctx context.Context, path string) (resolved string, err error) {
	err = f.with(func(w *Workspace) (err error) { resolved, err = w.Resolve(ctx, path); return err })
	return resolved, err
}

// Remove implements capability.Files.
func (f workspaceOf) Remove(ctx context.Context, path string, opts capability.RemoveOptions) error {
	return f.with(func(w *Workspace) error { return w.Remove(ctx, path, opts) })
}
