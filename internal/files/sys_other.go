//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package files

import (
	"errors"
	"io/fs"
	"os"
)

// nonBlock is nothing here: these systems keep no pipes in directories.
const nonBlock = 0

// lock always returns errors.ErrUnsupported: what a crash leaves stays.
func lock(*os.File) error { return errors.ErrUnsupported }

// keepOwner does nothing: a new file belongs to whoever runs the process.
func keepOwner(*os.File, fs.FileInfo) {}
