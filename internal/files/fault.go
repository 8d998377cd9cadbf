package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// fault turns an error of the system into the matching error of package
// capability, and strips the path from any other error.
func (w *Workspace) fault(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	cause := withoutPath(err)
	switch {
	case errors.Is(cause, w.escape):
		return capability.ErrOutside
	case errors.Is(cause, fs.ErrNotExist):
		return capability.ErrNotExist
	case errors.Is(cause, fs.ErrPermission), errors.Is(cause, syscall.EROFS):
		return capability.ErrPermission
	case errors.Is(cause, syscall.ENOTEMPTY):
		return capability.ErrNotEmpty
	case errors.Is(cause, syscall.ENOTDIR):
		return capability.ErrNotDir
	case errors.Is(cause, syscall.EISDIR):
		return capability.ErrIsDir
	case errors.Is(cause, syscall.ENXIO):
		return capability.ErrNotRegular
	case errors.Is(cause, syscall.ENAMETOOLONG), errors.Is(cause, syscall.ELOOP), errors.Is(cause, syscall.EILSEQ):
		return capability.ErrBadPath
	case errors.Is(cause, syscall.ENOSPC), errors.Is(cause, syscall.EDQUOT):
		return capability.ErrNoSpace
	}
	return fmt.Errorf("workspace: %w", cause)
}

// withoutPath returns what *fs.PathError and *os.LinkError wrap.
func withoutPath(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return withoutPath(pathError.Err)
	}
	var linkError *os.LinkError
	if errors.As(err, &linkError) {
		return withoutPath(linkError.Err)
	}
	return err
}
