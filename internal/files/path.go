package files

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// clean checks a caller's path and returns its shortest form: no "..", no
// slash at the end, "." for the root. Resolving ".." here, by the text, keeps it
// from meaning different things to different operations.
func clean(name string) (string, error) {
	if name == "" || len(name) > capability.MaxPath || strings.ContainsRune(name, 0) {
		return "", capability.ErrBadPath
	}
	p := path.Clean(name)
	if !filepath.IsLocal(filepath.FromSlash(p)) {
		return "", capability.ErrOutside
	}
	for part := range strings.SplitSeq(p, "/") {
		if reserved(part) {
			return "", capability.ErrBadPath
		}
	}
	return p, nil
}

// cleanFile is clean for a path that must name a file.
func cleanFile(name string) (string, error) {
	p, err := clean(name)
	if err == nil && (p == "." || strings.HasSuffix(name, "/")) {
		return "", capability.ErrIsDir
	}
	return p, err
}

// inside names a directory so that os.Root opens it only if it is one: opening
// plain "dir" would wait forever where a pipe has taken the directory's place.
func inside(dir string) string {
	if dir == "." {
		return dir
	}
	return dir + "/."
}
