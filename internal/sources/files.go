package sources

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/source"
)

const (
	// filesEvery is the time between two looks at the files of tools.
	filesEvery = 2 * time.Second
	// maxFiles bounds the number of files with tools in a directory.
	maxFiles = 256
)

// files is the source of the tools in a file or a directory of documents.
type files struct {
	kind     source.Kind
	variable string
	path     string
	every    time.Duration
	// read returns the tools of a file.
	read func(name string) ([]toolspec.Tool, error)
}

// Files returns the source of the tools in a file or a directory of documents, which an environment variable names.
// Faults begin with the variable. read returns the tools of a file. The source reads a file again when the file
// changes. While a file is not valid, its earlier tools stay.
func Files(kind source.Kind, variable, path string, read func(name string) ([]toolspec.Tool, error)) source.Source {
	return &files{kind, variable, path, filesEvery, read}
}

// Info returns the kind. The source needs no name, because there is one source of files for each kind.
func (f *files) Info() source.Info { return source.Info{Kind: f.kind} }

// Run offers the tools of the files, and offers them again when a file comes, goes or changes.
func (f *files) Run(ctx context.Context, offer func(source.Offer)) error {
	read := map[string]*toolFile{}
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	last, first := "", true
	for {
		changed, fault := f.look(read)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if changed || first || fault != last {
			offer(offerOf(read, fault))
		}
		last, first = fault, false
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// toolFile has the results of the last reads of a file.
type toolFile struct {
	size     int64
	modified time.Time
	tools    []toolspec.Tool
	fault    string
}

// look updates read, the files that this source has read: it reads new and changed files, and forgets removed ones.
// changed reports whether read has changed. fault says that the files cannot be listed; all tools stay then.
func (f *files) look(read map[string]*toolFile) (changed bool, fault string) {
	names, err := f.names()
	if err != nil {
		return false, fmt.Sprintf("%s: %v", f.variable, err)
	}
	for name := range read {
		if !slices.Contains(names, name) {
			delete(read, name)
			changed = true
		}
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			continue // the file was removed after the directory was read
		}
		old := read[name]
		if old != nil && old.size == info.Size() && old.modified.Equal(info.ModTime()) {
			continue
		}
		next := &toolFile{size: info.Size(), modified: info.ModTime()}
		tools, err := f.read(name)
		switch {
		case err == nil:
			next.tools = tools
		case old != nil:
			next.tools = old.tools
			fallthrough
		default:
			next.fault = fmt.Sprintf("%s: %s", filepath.Base(name), FileFault(err))
		}
		read[name], changed = next, true
	}
	return changed, ""
}

// names returns f.path if it is a file, or the names of the YAML and JSON files in it if it is a directory.
func (f *files) names() ([]string, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{f.path}, nil
	}
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, filepath.Join(f.path, e.Name()))
		}
	}
	if len(names) > maxFiles {
		return nil, fmt.Errorf("the directory has more than %d files of tools", maxFiles)
	}
	return names, nil
}

// FileFault returns the first fault of a document, the reason of a file error without the path, or the text of
// another error.
func FileFault(err error) string {
	var faults strictyaml.Errors
	var path *fs.PathError
	switch {
	case errors.As(err, &faults):
		return fmt.Sprintf("line %d, column %d: %s: %s (faults: %d)", faults[0].Line, faults[0].Column, faults[0].Path, faults[0].Reason, len(faults))
	case errors.As(err, &path):
		return path.Err.Error()
	}
	return err.Error()
}

// offerOf returns the tools of all files. If two files have a tool of the same id, the tool of the
// first file counts.
func offerOf(read map[string]*toolFile, fault string) (o source.Offer) {
	var faults []string
	if fault != "" {
		faults = append(faults, fault)
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(read)) {
		f := read[name]
		if f.fault != "" {
			faults = append(faults, f.fault)
		}
		for _, t := range f.tools {
			id := t.Definition().ID
			if seen[id] {
				faults = append(faults, fmt.Sprintf("%s: another file has a tool %s too", filepath.Base(name), id))
				continue
			}
			seen[id] = true
			o.Tools = append(o.Tools, t)
		}
	}
	o.Fault = strings.Join(faults[:min(len(faults), 5)], "; ")
	return o
}
