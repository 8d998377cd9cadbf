package tools

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// A result shows up to grepWhole matches in full. If there are more, it shows the first grepHead.
const (
	grepWhole = 100
	grepHead  = 50
	// grepAround is how many lines may be shown before and after a match.
	grepAround = 5
)

type grepIn struct {
	Pattern        string `json:"pattern" jsonschema:"minLength=1,maxLength=1000" jsonschema_description:"Text to look for within a line; with regex a regular expression in RE2 syntax, without look-around and back-references."`
	Path           string `json:"path,omitempty" jsonschema:"maxLength=4096" jsonschema_description:"Directory or file to search, relative to the workspace, with slashes. Default: the whole workspace."`
	Regex          bool   `json:"regex,omitempty" jsonschema_description:"Take the pattern for a regular expression. Default: false, literal text."`
	IgnoreCase     bool   `json:"ignoreCase,omitempty" jsonschema_description:"Do not tell upper from lower case. Default: false."`
	Include        string `json:"include,omitempty" jsonschema:"maxLength=256" jsonschema_description:"Search only files that match this glob. Without a slash it is matched against names: *.go or *.{ts,tsx}. With one, against paths below the searched directory, ** standing for any directories: src/**/*_test.go."`
	Exclude        string `json:"exclude,omitempty" jsonschema:"maxLength=256" jsonschema_description:"Leave out files and directories that match this glob, which has the form of include: {vendor,*.min.js} or docs/**."`
	Before         int    `json:"before,omitempty" jsonschema:"minimum=0,maximum=5" jsonschema_description:"Show so many lines before each match. Default: 0."`
	After          int    `json:"after,omitempty" jsonschema:"minimum=0,maximum=5" jsonschema_description:"Show so many lines after each match. Default: 0."`
	IncludeIgnored bool   `json:"includeIgnored,omitempty" jsonschema_description:"Search also what .gitignore, .ignore and .git/info/exclude leave out. Default: false."`
	MaxMatches     int    `json:"maxMatches,omitempty" jsonschema:"minimum=1,maximum=100" jsonschema_description:"Show at most this many matches. Default: 100."`
}

type grepOut struct {
	Matches       []grepMatch `json:"matches" jsonschema_description:"Matching lines in the order of paths and line numbers."`
	Total         int         `json:"total" jsonschema_description:"How many matching lines were found, shown or not."`
	Truncated     bool        `json:"truncated" jsonschema_description:"True if there are or may be matches that are not shown."`
	Incomplete    bool        `json:"incomplete" jsonschema_description:"True if something was not searched because of a limit; remark says what."`
	Remark        string      `json:"remark,omitempty" jsonschema_description:"What was not searched and what to do about it; present if incomplete."`
	FilesSearched int         `json:"filesSearched" jsonschema_description:"How many files were searched."`
	FilesSkipped  int         `json:"filesSkipped" jsonschema_description:"How many files and directories were not: binary, or not readable."`
}

type grepMatch struct {
	Path   string   `json:"path"`
	Line   int      `json:"line" jsonschema_description:"Line number, counted from 1."`
	Text   string   `json:"text" jsonschema_description:"The line; of a line over 500 bytes the part with the match."`
	Before []string `json:"before,omitempty" jsonschema_description:"The lines before it, of each the first 200 bytes."`
	After  []string `json:"after,omitempty" jsonschema_description:"The lines after it, of each the first 200 bytes."`
}

// Grep is core__grep: lines of text files that match a pattern. It needs
// capability.Files.
func Grep() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:    "core__grep",
		Title: "Search in files",
		Description: "Finds the lines that hold a text, or match a regular expression, in the text files of the workspace. " +
			"Up to 100 matching lines are shown in full; of more you get the first 50 and the total. " +
			"before and after show lines around each match. Hidden files are searched. Not searched are: what .gitignore, .ignore and .git/info/exclude " +
			"leave out, unless includeIgnored is true; directories named .git, .hg, .svn and node_modules, unless path leads into one; " +
			"symbolic links; binary files, UTF-16 among them, which are counted. " +
			"A search stops after 1000000 files, 4 GiB or 10 seconds, with a costly expression earlier, and says so in remark: then narrow path or include. " +
			"An expression is applied to the first 16 KiB of a line, and of a line the first 1 MiB is searched.",
		Version: "1",
		Effect:  toolspec.ReadOnly,
		Risk:    toolspec.LowRisk,
		Heavy:   true,
		Redaction: toolspec.Redaction{Allow: []string{
			"/matches/*/path", "/matches/*/line", "/matches/*/text", "/matches/*/before/*", "/matches/*/after/*",
			"/total", "/truncated", "/incomplete", "/remark", "/filesSearched", "/filesSkipped",
		}},
		Capabilities: []toolspec.CapabilityName{capability.FilesKey.Name()},
		Tags:         []string{"files", "search"},
		// A value can have 100 matches with 10 lines around each, whose characters JSON all escapes.
		MaxResultBytes: 4 << 20,
		Examples: []toolspec.Example{
			{Title: "Find a text in Go files, with two lines after each match", Args: `{"pattern":"func main()","include":"*.go","after":2}`},
			{Title: "Find an expression below a directory", Args: `{"pattern":"TODO|FIXME","regex":true,"path":"src","exclude":"*_test.go"}`},
		},
	}, grep)
}

func grep(ctx context.Context, in grepIn, call toolspec.Call) (grepOut, error) {
	p, err := newPattern(in.Pattern, in.Regex, in.IgnoreCase)
	if err != nil {
		return grepOut{}, err
	}
	if in.Path == "" {
		in.Path = "."
	}
	s := newSearch(capability.FilesKey.From(call), p)
	s.before, s.after = min(in.Before, grepAround), min(in.After, grepAround)
	opts := capability.WalkOptions{Include: in.Include, Exclude: in.Exclude, Ignore: !in.IncludeIgnored}
	if err := s.run(ctx, in.Path, opts); err != nil {
		return grepOut{}, explain(err)
	}
	show := grepWhole
	if s.total > grepWhole {
		show = grepHead
	}
	if in.MaxMatches > 0 {
		show = min(show, in.MaxMatches)
	}
	out := grepOut{
		Matches: make([]grepMatch, 0, show), Total: s.total, Remark: s.remark(),
		FilesSearched: s.searched, FilesSkipped: int(s.skipped.Load()),
	}
	out.Matches = append(out.Matches, s.matches[:min(show, len(s.matches))]...)
	out.Incomplete = out.Remark != ""
	out.Truncated = out.Incomplete || s.total > len(out.Matches)
	return out, nil
}
