package files

import (
	"io/fs"

	"github.com/pawl-run/pawl/toolspec/capability"
)

func entryOf(p string, info fs.FileInfo) capability.Entry {
	e := capability.Entry{Path: p, Type: typeOf(info.Mode())}
	if e.Type == capability.TypeFile {
		e.Size, e.Modified = info.Size(), info.ModTime()
	}
	return e
}

func typeOf(mode fs.FileMode) capability.EntryType {
	switch {
	case mode.IsRegular():
		return capability.TypeFile
	case mode.IsDir():
		return capability.TypeDir
	case mode&fs.ModeSymlink != 0:
		return capability.TypeSymlink
	}
	return capability.TypeOther
}
