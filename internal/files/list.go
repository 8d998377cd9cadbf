package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// batch is how many entries are read between two looks at the context.
const batch = 512

// List implements capability.Files. It holds no more than limit entries and a
// batch in memory, however large the directory.
func (w *Workspace) List(ctx context.Context, dir string, limit int) (capability.Listing, error) {
	p, err := clean(dir)
	if err != nil {
		return capability.Listing{}, err
	}
	if limit < 1 {
		return capability.Listing{}, errors.New("workspace: the limit of a listing must be positive")
	}
	listing := capability.Listing{Entries: []capability.Entry{}}
	err = w.readDir(ctx, p, func(entries []capability.Entry) error {
		listing.Total += len(entries)
		listing.Entries = append(listing.Entries, entries...)
		if len(listing.Entries) > 2*limit+batch {
			listing.Entries = first(listing.Entries, limit)
		}
		return nil
	})
	if err != nil {
		return capability.Listing{}, err
	}
	listing.Entries = first(listing.Entries, limit)
	return listing, nil
}

// readDir reads a directory in batches, in the order of the file system. It
// leaves out the temporary files of Replace.
func (w *Workspace) readDir(ctx context.Context, dir string, read func([]capability.Entry) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := w.root.Open(inside(dir))
	if err != nil {
		return w.fault(err)
	}
	defer func() { _ = f.Close() }()
	for {
		found, err := f.ReadDir(batch)
		if err := read(entriesOf(dir, found)); err != nil {
			return err
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return w.fault(err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

func entriesOf(dir string, found []fs.DirEntry) []capability.Entry {
	entries := make([]capability.Entry, 0, len(found))
	for _, d := range found {
		if reserved(d.Name()) {
			continue
		}
		p := path.Join(dir, d.Name())
		// os.Root has opened the directory, so ReadDir has called stat on every
		// entry by its descriptor, and Info returns that result.
		info, err := d.Info()
		if err != nil {
			entries = append(entries, capability.Entry{Path: p, Type: typeOf(d.Type())})
			continue
		}
		entries = append(entries, entryOf(p, info))
	}
	return entries
}

// first sorts entries of one directory by name and keeps at most n of them.
func first(entries []capability.Entry, n int) []capability.Entry {
	slices.SortFunc(entries, func(a, b capability.Entry) int { return strings.Compare(a.Path, b.Path) })
	return entries[:min(n, len(entries))]
}
