package migrations

import (
	"embed"
	"io/fs"
)

//go:embed *.sql
var files embed.FS

// FS returns the steps, one file each, named by their number.
func FS() fs.FS { return files }
