package capability

import (
	"context"
	"io"

	"github.com/pawl-run/pawl/toolspec"
)

// FilesKey is the typed name of Files.
var FilesKey = toolspec.NewCapability[Files]("files")

// Bounds that every Files keeps.
const (
	// MaxPath bounds a path, in bytes.
	MaxPath = 4096
	// MaxDirEntries bounds the directories that Walk descends into, in entries.
	MaxDirEntries = 100_000
)

// Files is the file system of one workspace and nothing outside it.
//
// Paths are relative to the workspace's root and separated by slashes; "." is
// the root. A path that leaves it — absolute, by "..", or through a symbolic
// link — is ErrOutside. Links that stay inside are followed.
//
// Errors are those of this package where one fits, the context's, or a plain
// error of the system. No error's text holds a path or the content of a file.
type Files interface {
	// List returns the first limit entries of a directory in the byte order of
	// their names, and how many there are. limit must be positive.
	List(ctx context.Context, dir string, limit int) (Listing, error)

	// Open opens a regular file for reading and says what it is. Its reader
	// fails with ErrTooLarge when the file goes on after limit bytes, and with
	// the context's error when that ends. Whatever is not a regular file is
	// refused without reading from it.
	Open(ctx context.Context, path string, limit int64) (io.ReadCloser, Entry, error)

	// Walk visits what is below dir, a directory before its content, entries in
	// the byte order of their names. Where dir is a file, it visits that. It
	// does not follow symbolic links below dir. A directory that cannot be read,
	// or holds more than MaxDirEntries, is visited a second time, with the
	// error. An error of visit ends the walk and is returned as it is.
	Walk(ctx context.Context, dir string, opts WalkOptions, visit func(Entry, error) error) error

	// Replace gives a file its whole content in one step: whoever reads sees
	// the old or the new content, also after a crash. A new file gets the
	// system's default mode; an existing one keeps its permissions. Through a
	// symbolic link it replaces what the link names. A directory, pipe, device
	// or read-only file is refused. Without opts.CreateDirs a missing parent
	// directory is ErrNotExist. Replacing again with the same content is
	// harmless; after an error the file may have the old content or the new.
	Replace(ctx context.Context, path string, content []byte, opts ReplaceOptions) error
}

// EntryType says what stands under a name.
type EntryType string

// The types of entries.
const (
	TypeFile    EntryType = "file"
	TypeDir     EntryType = "dir"
	TypeSymlink EntryType = "symlink"
	// TypeOther is a pipe, socket or device.
	TypeOther EntryType = "other"
)

// Entry is one thing in the workspace.
type Entry struct {
	// Path is relative to the root; its last part is the name. It is as the
	// file system has it, which need not be UTF-8.
	Path string
	Type EntryType
	// Size is the length of a regular file in bytes, else 0.
	Size int64
}

// Listing is the beginning of a directory.
type Listing struct {
	Entries []Entry
	// Total counts all entries of the directory.
	Total int
}

// WalkOptions narrows a walk. The zero value visits everything.
type WalkOptions struct {
	// Include is a glob, in which ** stands for any directories and {a,b} for
	// either; only files that match are visited, and no directories. Without a
	// slash it is matched against names, else against paths relative to dir.
	// A malformed or too complex one is ErrBadPattern.
	Include string
	// SkipDirs lists names of directories that are neither visited nor entered.
	SkipDirs []string
}

// ReplaceOptions are the choices of Replace.
type ReplaceOptions struct {
	// CreateDirs makes missing parent directories. They stay if Replace fails.
	CreateDirs bool
}
