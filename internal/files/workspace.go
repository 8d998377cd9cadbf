package files

import (
	"fmt"
	"os"

	"github.com/pawl-run/pawl/toolspec/capability"
)

var _ capability.Files = (*Workspace)(nil)

// Workspace is the tree below one directory. It is safe for concurrent use.
type Workspace struct {
	root *os.Root
	// escape is os.Root's error for a path that leaves it.
	escape error
}

// Open opens the workspace in the host's directory dir and holds on to it: a
// directory that is moved is still the workspace, one that is put in its place
// is not. Close it when no call uses it any more.
func Open(dir string) (*Workspace, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	// The package os does not export that error, so it is asked for with a path
	// that leaves any root.
	_, escape := root.Lstat("..")
	return &Workspace{root: root, escape: withoutPath(escape)}, nil
}

// Close lets go of the directory. Calls after it fail.
func (w *Workspace) Close() error { return w.root.Close() }
