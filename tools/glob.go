package tools

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// A value of core__glob has the first globPaths paths, as far as they fit in globBytes.
const (
	globPaths = 10_000
	globBytes = 512 << 10
)

type globIn struct {
	Pattern        string `json:"pattern" jsonschema:"minLength=1,maxLength=256" jsonschema_description:"Glob that the files must match. Without a slash it is matched against names in every directory: *.go or *.{ts,tsx}. With one, against paths below the searched directory, ** standing for any directories: src/**/*_test.go."`
	Path           string `json:"path,omitempty" jsonschema:"maxLength=4096" jsonschema_description:"Directory to search, relative to the workspace, with slashes. Default: the whole workspace."`
	Exclude        string `json:"exclude,omitempty" jsonschema:"maxLength=256" jsonschema_description:"Leave out files and directories that match this glob, which has the form of pattern: {vendor,*.min.js} or docs/**."`
	Sort           string `json:"sort,omitempty" jsonschema:"enum=modified,enum=path" jsonschema_description:"Order of the paths: modified, the newest file first, or path. Default: modified."`
	IncludeIgnored bool   `json:"includeIgnored,omitempty" jsonschema_description:"Find also what .gitignore, .ignore and .git/info/exclude leave out. Default: false."`
}

type globOut struct {
	Paths       []string `json:"paths" jsonschema_description:"Files that match, relative to the workspace."`
	Total       int      `json:"total" jsonschema_description:"How many files match, shown or not."`
	Truncated   bool     `json:"truncated" jsonschema_description:"True if there are or may be files that are not shown."`
	Incomplete  bool     `json:"incomplete" jsonschema_description:"True if something was not searched because of a limit; remark says what."`
	Remark      string   `json:"remark,omitempty" jsonschema_description:"What was not searched and what to do about it; present if incomplete."`
	DirsSkipped int      `json:"dirsSkipped" jsonschema_description:"How many directories could not be read."`
}

// Glob is core__glob: the files whose paths match a pattern. It needs capability.Files.
func Glob() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:    "core__glob",
		Title: "Find files",
		Description: "Finds files of the workspace by a pattern for their names or paths, the newest first. " +
			"Up to 1000 paths are shown in full; of more you get the first 500, the total, and a reference with which core__tool_output_cache reads up to 10000. " +
			"Hidden files are found. Left out are: what .gitignore, .ignore and .git/info/exclude name, unless includeIgnored is true; " +
			"directories named .git, .hg, .svn and node_modules, unless path leads into one; directories, symbolic links, pipes and devices. " +
			"A search stops after 1000000 matching files or 10 seconds, and says so in remark: then narrow path or pattern. To find text in files use core__grep.",
		Version: "1",
		Effect:  toolspec.ReadOnly,
		Risk:    toolspec.LowRisk,
		Heavy:   true,
		Redaction: toolspec.Redaction{Allow: []string{
			"/paths/*", "/total", "/truncated", "/incomplete", "/remark", "/dirsSkipped",
		}},
		Truncate:     []toolspec.Truncation{{Path: "/paths", As: toolspec.Listing}},
		Capabilities: []toolspec.CapabilityName{capability.FilesKey.Name()},
		Tags:         []string{"files", "search"},
		// A value can have globBytes of paths whose characters JSON all escapes.
		MaxResultBytes: 4 << 20,
		Examples: []toolspec.Example{
			{Title: "Find the tests of a directory, the newest first", Args: `{"pattern":"**/*_test.go","path":"internal"}`},
			{Title: "Find files by name, in the order of paths", Args: `{"pattern":"{Dockerfile,docker-compose*.yml}","sort":"path"}`},
		},
	}, glob)
}

func glob(ctx context.Context, in globIn, call toolspec.Call) (globOut, error) {
	if in.Path == "" {
		in.Path = "."
	}
	within, cancel := context.WithTimeoutCause(ctx, searchTime, limitGlobTime)
	defer cancel()
	l := listing{byPath: in.Sort == "path", most: globPaths, maxFiles: searchFiles}
	err := capability.FilesKey.From(call).Walk(within, in.Path, capability.WalkOptions{
		Include: in.Pattern, Exclude: in.Exclude, Ignore: !in.IncludeIgnored, SkipDirs: skippedDirs,
	}, l.visit)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(within), limitGlobTime) {
		err = limitGlobTime
	}
	var stopped searchLimit
	if err != nil && !errors.As(err, &stopped) {
		return globOut{}, explain(err)
	}
	out := globOut{Paths: l.paths(), Total: l.total, Remark: string(stopped), Incomplete: stopped != "", DirsSkipped: l.skipped}
	out.Truncated = out.Incomplete || out.Total > len(out.Paths)
	return out, nil
}

// The limits of core__glob.
const (
	limitGlobFiles searchLimit = "The search stopped after 1000000 matching files: narrow path or pattern."
	limitGlobTime  searchLimit = "The search stopped after 10 seconds: narrow path or pattern."
)

// listing collects the first files in an order, from several goroutines.
type listing struct {
	byPath         bool
	most, maxFiles int

	mu      sync.Mutex
	files   []listed
	total   int
	skipped int
}

type listed struct {
	path     string
	modified time.Time
}

func (l *listing) visit(f capability.Found) error {
	file := listed{path: f.Path()}
	if f.Err() == nil && !l.byPath {
		e, err := f.Stat()
		if err != nil {
			return nil // it is no file any more
		}
		file.modified = e.Modified
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.Err() != nil {
		l.skipped++
		return nil
	}
	if l.total == l.maxFiles {
		return limitGlobFiles
	}
	l.total++
	if l.files = append(l.files, file); len(l.files) == 2*l.most {
		l.cut()
	}
	return nil
}

// cut sorts the files and keeps the first ones.
func (l *listing) cut() {
	slices.SortFunc(l.files, func(a, b listed) int {
		return cmp.Or(b.modified.Compare(a.modified), comparePaths(a.path, b.path))
	})
	l.files = l.files[:min(len(l.files), l.most)]
}

// paths returns the first paths, as many as fit in globBytes.
func (l *listing) paths() []string {
	l.cut()
	paths, size := make([]string, 0, len(l.files)), 0
	for _, f := range l.files {
		if size += len(f.path); size > globBytes {
			break
		}
		paths = append(paths, showable(f.path))
	}
	return paths
}
