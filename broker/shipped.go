package broker

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed providers/*.yaml
var shippedFiles embed.FS

// Shipped returns the built-in provider descriptions, by id.
func Shipped() ([]Provider, error) { return readAll(shippedFiles) }

// readAll reads the descriptions of a directory's *.yaml files.
func readAll(files fs.FS) ([]Provider, error) {
	paths, err := fs.Glob(files, "providers/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []Provider
	for _, path := range paths {
		source, err := fs.ReadFile(files, path)
		if err != nil {
			return nil, err
		}
		found, err := ReadProviders(source)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if all, err = Merge(all, found); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return all, nil
}

// Merge combines descriptions, sorted by id. Two descriptions with the same id are an error: a file
// that redefines github could send its tokens to another host.
func Merge(some, more []Provider) ([]Provider, error) {
	all := slices.Concat(some, more)
	slices.SortFunc(all, func(a, b Provider) int { return strings.Compare(a.ID, b.ID) })
	for i := 1; i < len(all); i++ {
		if all[i].ID == all[i-1].ID {
			return nil, fmt.Errorf("provider %q is described twice: give yours another id", all[i].ID)
		}
	}
	return all, nil
}
