package files

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// maxResolved bounds the symbolic links that Resolve follows, as Linux bounds them for one path.
const maxResolved = 40

// Resolve implements capability.Files.
func (w *Workspace) Resolve(ctx context.Context, name string) (string, error) {
	p, err := clean(name)
	if err != nil {
		return "", err
	}
	var resolved []string // without links, so that ".." is its parent by the text
	rest, links := strings.Split(p, "/"), 0
	for len(rest) > 0 {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		part := rest[0]
		rest = rest[1:]
		switch {
		case part == "" || part == ".":
			continue
		case part == ".." && len(resolved) == 0:
			return "", capability.ErrOutside
		case part == "..":
			resolved = resolved[:len(resolved)-1]
			continue
		case len(rest) == 0 && reserved(part):
			return "", capability.ErrBadPath
		}
		at := path.Join(append(resolved, part)...)
		info, err := w.root.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && info.Mode()&fs.ModeSymlink == 0:
			resolved = append(resolved, part)
			continue
		case err != nil:
			return "", w.fault(err)
		}
		if links++; links > maxResolved {
			return "", capability.ErrBadPath
		}
		link, err := w.root.Readlink(at)
		if err != nil {
			return "", w.fault(err)
		}
		if path.IsAbs(link) {
			return "", capability.ErrOutside
		}
		rest = append(strings.Split(link, "/"), rest...)
	}
	return path.Join(append([]string{"."}, resolved...)...), nil
}
