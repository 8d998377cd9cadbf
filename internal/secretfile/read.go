package secretfile

import (
	"fmt"
	"io"
	"os"
	"runtime"
)

// others are the permissions that anybody but the owner has.
const others = 0o077

// Read returns what the file holds, at most so many bytes. A file that its group
// or others may read is refused, and so is what is no regular file; Windows has no
// such permissions, and there they are not looked at.
func Read(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&others != 0:
		return nil, fmt.Errorf("%s may be read by others than its owner (mode %04o): chmod 600 it", path, info.Mode().Perm())
	}
	return Limited(f, path, most)
}

// Limited returns what a reader holds, at most so many bytes; name says what it is.
func Limited(in io.Reader, name string, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(text)) > most {
		clear(text)
		return nil, fmt.Errorf("%s is larger than %d bytes", name, most)
	}
	return text, err
}
