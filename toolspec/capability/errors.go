package capability

import "errors"

// What goes wrong with files, in words that are safe to show to anyone.
var (
	// ErrOutside: the path leaves the workspace.
	ErrOutside = errors.New("the path leads outside the workspace")
	// ErrBadPath: empty, too long, reserved, holds a NUL, or is a loop of links.
	ErrBadPath = errors.New("the path is not valid")
	// ErrNotExist: nothing stands there.
	ErrNotExist = errors.New("the file does not exist")
	// ErrIsDir: a directory where a file is needed.
	ErrIsDir = errors.New("the path is a directory")
	// ErrNotDir: a part of the path that must be a directory is none.
	ErrNotDir = errors.New("the path is not a directory")
	// ErrNotRegular: a pipe, socket or device.
	ErrNotRegular = errors.New("the path is not a regular file")
	// ErrPermission: the worker may not do that there.
	ErrPermission = errors.New("permission denied")
	// ErrTooLarge: more bytes or entries than the caller takes.
	ErrTooLarge = errors.New("it is too large")
	// ErrNoSpace: the disk or the quota is full.
	ErrNoSpace = errors.New("no space is left")
	// ErrBusy: others are replacing the same file; nothing happened.
	ErrBusy = errors.New("the file is being written by others")
	// ErrBadPattern: a malformed or too complex glob.
	ErrBadPattern = errors.New("the glob pattern is not valid")
)

// ErrNoZone is the clock's: there is no time zone of that name.
var ErrNoZone = errors.New("there is no such time zone")
