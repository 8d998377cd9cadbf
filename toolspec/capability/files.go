package capability

import (
	"context"
	"io"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// FilesKey is the typed name of Files.
var FilesKey = toolspec.NewCapability[Files]("files")

// Bounds that every Files keeps.
const (
	// MaxPath bounds a path, in bytes.
	MaxPath = 4096
	// MaxDirEntries bounds the directories that Walk reads, in entries.
	MaxDirEntries = 100_000
	// MaxIgnoreFile bounds what Walk reads of an ignore file, in bytes.
	MaxIgnoreFile = 256 << 10
	// MaxIgnoreRules bounds the rules of all ignore files of one walk.
	MaxIgnoreRules = 100_000
)

// Files is the file system of one workspace.
//
// Paths are relative to the root of the workspace and separated by slashes; "." is the root. A path
// that leads out of the workspace (absolute, with "..", or through a symbolic link) fails with
// ErrOutside. Links inside of the workspace are followed.
//
// Errors are those of this package if one fits, the error of the context, or another error of the
// system. No text of an error contains a path or the content of a file.
type Files interface {
	// List returns the first limit entries of a directory in the byte order of their names, and the
	// number of all entries. limit must be positive.
	List(ctx context.Context, dir string, limit int) (Listing, error)

	// Open opens a regular file for reading and returns its entry. The reader fails with
	// ErrTooLarge if the file has more than limit bytes, and with the error of the context when the
	// context ends. Open refuses other types of files and reads nothing from them.
	Open(ctx context.Context, path string, limit int64) (io.ReadCloser, Entry, error)

	// Walk visits the regular files below dir, from several goroutines at once and in no order. If dir
	// is a file, Walk visits only the file. It does not follow symbolic links below dir. It also
	// visits a directory that it cannot read, or that has more than MaxDirEntries, with the error in
	// Found.Err. Hidden files are visited like others. The first error of visit ends the walk and is
	// returned unchanged; calls of visit that run at that time go on to their end.
	Walk(ctx context.Context, dir string, opts WalkOptions, visit func(Found) error) error

	// Replace replaces the whole content of a file atomically: a reader sees the old or the new
	// content, also after a crash. A new file gets the default mode of the system; an existing file
	// keeps its permissions. For a symbolic link it replaces the target. It refuses a directory,
	// pipe, device or read-only file. Without opts.CreateDirs a missing parent directory fails with
	// ErrNotExist. It is safe to repeat with the same content. After an error the file has the old
	// or the new content.
	Replace(ctx context.Context, path string, content []byte, opts ReplaceOptions) error

	// ReplaceFrom is Replace with the content from a reader, of which it holds a part in memory. An
	// error of the reader is returned wrapped, and the file is unchanged.
	ReplaceFrom(ctx context.Context, path string, content io.Reader, opts ReplaceOptions) error

	// Stat returns the entry of a path. It does not follow a symbolic link in the last part of the
	// path.
	Stat(ctx context.Context, path string) (Entry, error)

	// Resolve returns where a path leads: the path with every symbolic link in it followed. A part that does
	// not exist stays as it is.
	Resolve(ctx context.Context, path string) (string, error)

	// Remove removes one regular file, symbolic link or empty directory; of a link it removes the
	// link and not its target. It refuses a read-only file, a pipe and a device. A path with nothing
	// there fails with ErrNotExist, a directory with entries with ErrNotEmpty.
	Remove(ctx context.Context, path string, opts RemoveOptions) error
}

// EntryType is the type of an entry.
type EntryType string

// The types of entries.
const (
	TypeFile    EntryType = "file"
	TypeDir     EntryType = "dir"
	TypeSymlink EntryType = "symlink"
	// TypeOther is a pipe, socket or device.
	TypeOther EntryType = "other"
)

// Entry is a file, directory or link in the workspace.
type Entry struct {
	// Path is relative to the root. It is as the file system stores it, which may not be UTF-8.
	Path string
	Type EntryType
	// Size is the length of a regular file in bytes; 0 for other types.
	Size int64
	// Modified is when the content of a regular file last changed; zero for other types.
	Modified time.Time
}

// Found is a file that Walk visits. It is valid until visit returns.
type Found interface {
	// Path is as in Entry.
	Path() string
	// Err is the error of a directory that Walk could not read, and nil for a file. The other methods
	// are for files only.
	Err() error
	// Stat returns the entry of the file. It fails with ErrNotRegular if a directory, link or other
	// thing has taken the place of the file.
	Stat() (Entry, error)
	// Open opens the file for reading and returns its size in bytes. The reader ends at that size; it
	// fails with the error of the context of the walk when that ends. Open fails as Stat does.
	Open() (io.ReadCloser, int64, error)
}

// Listing is the start of a directory.
type Listing struct {
	Entries []Entry
	// Total is the number of all entries of the directory.
	Total int
}

// WalkOptions restricts a walk. The zero value visits everything.
type WalkOptions struct {
	// Include is a glob: ** matches any directories and {a,b} matches a or b. Walk then visits only
	// files that match. A glob without a slash is matched against names, other globs against paths
	// relative to dir. A malformed or too complex glob fails with ErrBadPattern.
	Include string
	// Exclude is a glob like Include. Walk visits no file that matches, and enters no directory that
	// matches.
	Exclude string
	// SkipDirs lists names of directories that Walk does not enter.
	SkipDirs []string
	// Ignore leaves out the files and directories that ignore files name: .ignore and .gitignore of
	// each directory from the root of the workspace down, and .git/info/exclude. They do not apply to
	// dir itself. Of an ignore file, the first MaxIgnoreFile bytes count. A walk that reads more than
	// MaxIgnoreRules rules ends with ErrIgnoreRules.
	Ignore bool
}

// ReplaceOptions are the options of Replace.
type ReplaceOptions struct {
	// CreateDirs creates missing parent directories. They stay if Replace fails.
	CreateDirs bool
	// If is the content that the file must have: its SHA-256 in hexadecimal, or Absent for no file. Any
	// other content fails with ErrChanged, and the file is unchanged. It is compared right before the
	// file is replaced; what another process writes between the two is lost. "" compares nothing.
	If string
	// NoLinks fails with ErrChanged if a part of the path is a symbolic link.
	NoLinks bool
}

// Absent stands for no file in ReplaceOptions.If.
const Absent = "absent"

// RemoveOptions are the options of Remove.
type RemoveOptions struct {
	// If is what must be there: the SHA-256 of a regular file, or TypeDir or TypeSymlink. Anything else
	// fails with ErrChanged. "" compares nothing.
	If string
	// NoLinks fails with ErrChanged if a directory of the path is a symbolic link.
	NoLinks bool
}
