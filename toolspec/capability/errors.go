package capability

import "errors"

// Errors of files. Their texts are safe to show to anyone.
var (
	// ErrOutside: the path leads out of the workspace.
	ErrOutside = errors.New("the path leads outside the workspace")
	// ErrBadPath: the path is empty, too long or reserved, contains a NUL, or is a loop of links.
	ErrBadPath = errors.New("the path is not valid")
	// ErrNotExist: the file does not exist.
	ErrNotExist = errors.New("the file does not exist")
	// ErrIsDir: the path is a directory, and a file is needed.
	ErrIsDir = errors.New("the path is a directory")
	// ErrNotDir: a part of the path that must be a directory is not.
	ErrNotDir = errors.New("the path is not a directory")
	// ErrNotRegular: the path is a pipe, socket or device.
	ErrNotRegular = errors.New("the path is not a regular file")
	// ErrPermission: the worker has no permission for the operation.
	ErrPermission = errors.New("permission denied")
	// ErrTooLarge: there are more bytes or entries than the caller accepts.
	ErrTooLarge = errors.New("it is too large")
	// ErrNoSpace: the disk or the quota is full.
	ErrNoSpace = errors.New("no space is left")
	// ErrBusy: other writers are replacing the same file; nothing has changed.
	ErrBusy = errors.New("the file is being written by others")
	// ErrNotEmpty: the directory has entries, so it is not removed.
	ErrNotEmpty = errors.New("the directory is not empty")
	// ErrChanged: the file does not have the content that the caller expects; nothing has changed.
	ErrChanged = errors.New("the file has been changed by others")
	// ErrBadPattern: the glob is malformed or too complex.
	ErrBadPattern = errors.New("the glob pattern is not valid")
	// ErrIgnoreRules: the ignore files of a walk have more rules than MaxIgnoreRules.
	ErrIgnoreRules = errors.New("the ignore files have too many rules: search a smaller directory, or without ignore files")
)

// ErrNoZone says that Clock knows no time zone with the name.
var ErrNoZone = errors.New("there is no such time zone")
