package migrations

import (
	"embed"
	"io/fs"
	"strconv"
)

//go:embed *.sql
var files embed.FS

// FS returns the steps, one file each, named by their number.
func FS() fs.FS { return files }

// Latest returns the number of the last step, which is the version of the schema that this build needs.
func Latest() (number int64) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		panic(err) // the pattern is constant
	}
	for _, name := range names {
		if n, err := strconv.ParseInt(name[:4], 10, 64); err == nil {
			number = max(number, n)
		}
	}
	return number
}
