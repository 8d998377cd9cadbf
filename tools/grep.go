package tools

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// Up to grepWhole matches are shown in full, of more the first grepHead.
const (
	grepWhole = 100
	grepHead  = 50
)

type grepIn struct {
	Pattern    string `json:"pattern" jsonschema:"minLength=1,maxLength=1000" jsonschema_description:"Text to look for within a line; with regex a regular expression in RE2 syntax, without look-around and back-references."`
	Path       string `json:"path,omitempty" jsonschema:"maxLength=4096" jsonschema_description:"Directory or file to search, relative to the workspace, with slashes. Default: the whole workspace."`
	Regex      bool   `json:"regex,omitempty" jsonschema_description:"Take the pattern for a regular expression. Default: false, literal text."`
	IgnoreCase bool   `json:"ignoreCase,omitempty" jsonschema_description:"Do not tell upper from lower case. Default: false."`
	Include    string `json:"include,omitempty" jsonschema:"maxLength=256" jsonschema_description:"Search only files that match this glob. Without a slash it is matched against names: *.go or *.{ts,tsx}. With one, against paths below the searched directory, ** standing for any directories: src/**/*_test.go."`
	MaxMatches int    `json:"maxMatches,omitempty" jsonschema:"minimum=1,maximum=100" jsonschema_description:"Show at most this many matches. Default: 100."`
}

type grepOut struct {
	Matches       []grepMatch `json:"matches" jsonschema_description:"Matching lines in the order of paths and line numbers."`
	Total         int         `json:"total" jsonschema_description:"How many matching lines were found, shown or not."`
	Truncated     bool        `json:"truncated" jsonschema_description:"True if there are or may be matches that are not shown."`
	Incomplete    bool        `json:"incomplete" jsonschema_description:"True if something was not searched because of a limit; remark says what."`
	Remark        string      `json:"remark,omitempty" jsonschema_description:"What was not searched and what to do about it; present if incomplete."`
	FilesSearched int         `json:"filesSearched" jsonschema_description:"How many files were searched."`
	FilesSkipped  int         `json:"filesSkipped" jsonschema_description:"How many files and directories were not: binary, over 1 MB, or not readable."`
}

type grepMatch struct {
	Path string `json:"path"`
	Line int    `json:"line" jsonschema_description:"Line number, counted from 1."`
	Text string `json:"text" jsonschema_description:"The line; of a line over 500 bytes the part with the match."`
}

// Grep is core__grep: lines of text files that match a pattern. It needs
// capability.Files.
func Grep() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:    "core__grep",
		Title: "Search in files",
		Description: "Finds the lines that hold a text, or match a regular expression, in the text files of the workspace. " +
			"Up to 100 matching lines are shown in full; of more you get the first 50 and the total. " +
			"Directories named .git, .hg, .svn and node_modules are left out unless path leads into one; symbolic links are not followed; " +
			"binary files and files over 1 MB are skipped and counted. " +
			"A search stops after 10000 files, 64 MB or 2 seconds, with a costly expression earlier, and says so in remark: then narrow path or include. " +
			"An expression is applied to the first 16 KB of a line.",
		Version: "1",
		Effect:  toolspec.ReadOnly,
		Risk:    toolspec.LowRisk,
		Heavy:   true,
		Redaction: toolspec.Redaction{Allow: []string{
			"/matches/*/path", "/matches/*/line", "/matches/*/text",
			"/total", "/truncated", "/incomplete", "/remark", "/filesSearched", "/filesSkipped",
		}},
		Capabilities: []toolspec.CapabilityName{capability.FilesKey.Name()},
		Tags:         []string{"files", "search"},
		Examples: []toolspec.Example{
			{Title: "find a text", Args: `{"pattern": "TODO"}`},
			{Title: "find functions in Go files", Args: `{"pattern": "^func [A-Z]", "regex": true, "include": "*.go"}`},
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
	s := search{files: capability.FilesKey.From(call), pattern: p, budget: searchWork}
	if err := s.run(ctx, in.Path, in.Include); err != nil {
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
		FilesSearched: s.searched, FilesSkipped: s.skipped,
	}
	out.Matches = append(out.Matches, s.matches[:min(show, len(s.matches))]...)
	out.Incomplete = out.Remark != ""
	out.Truncated = out.Incomplete || s.total > len(out.Matches)
	return out, nil
}
