package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// Bounds of one search.
const (
	searchFiles = 1_000_000
	searchBytes = 4 << 30
	searchTime  = 10 * time.Second
	// searchWork bounds the work of a search, in instructions of its pattern times
	// bytes. Patterns made to be slow take 1 s to 3 s of a processor for it; most
	// others take a tenth of that. An expression of 10 instructions gets through 25 MiB.
	searchWork = 1 << 28
	// lineWork is the work for a line in addition to its bytes. scanWork is the number of bytes that
	// are read for one unit of work.
	lineWork = 16
	scanWork = 32
	// spendAtOnce is how much work a goroutine takes from the budget at once.
	spendAtOnce = 1 << 16
	// searchText bounds the text of one match, in bytes. If the match is far to the right in its line,
	// the text begins searchLead bytes before it.
	searchText = 500
	searchLead = 100
	// searchAround bounds a line before or after a match, in bytes.
	searchAround = 200
)

// skippedDirs are not searched unless the path of a call leads into them.
var skippedDirs = []string{".git", ".hg", ".svn", "node_modules"}

// searchLimit is a limit at which a search stops, as a message to the caller.
type searchLimit string

// The limits of a search.
const (
	limitFiles searchLimit = "The search stopped after 1000000 files: narrow path or include."
	limitBytes searchLimit = "The search stopped after 4 GiB: narrow path or include."
	limitTime  searchLimit = "The search stopped after 10 seconds: narrow path or include."
	limitWork  searchLimit = "The search stopped, for its pattern is costly on so much text: narrow path or include, or repeat less in the pattern."
)

// Error returns the text for the caller.
func (l searchLimit) Error() string { return string(l) }

// search collects matching lines. Several goroutines search files at once.
type search struct {
	files   capability.Files
	pattern pattern
	// before and after are how many lines around a match are wanted.
	before, after int
	// maxFiles, maxBytes and budget bound the search. The budget is in instructions times bytes.
	maxFiles, maxBytes, budget int64

	seen, bytes, work, skipped atomic.Int64
	// cut counts the lines to which the expression was applied only at their beginning. long counts
	// the lines of which only the beginning was searched.
	cut, long atomic.Int64

	mu       sync.Mutex
	matches  []grepMatch
	total    int
	searched int
	// stopped is the limit at which the search stopped; empty if everything was searched.
	stopped searchLimit
}

func newSearch(files capability.Files, p pattern) *search {
	return &search{files: files, pattern: p, maxFiles: searchFiles, maxBytes: searchBytes, budget: searchWork}
}

// run searches what is below path. Reaching a limit is not an error: what was
// found until then is worth having.
func (s *search) run(ctx context.Context, path string, opts capability.WalkOptions) error {
	within, cancel := context.WithTimeoutCause(ctx, searchTime, limitTime)
	defer cancel()
	opts.SkipDirs = skippedDirs
	err := s.files.Walk(within, path, opts, func(f capability.Found) error { return s.visit(within, f) })
	s.matches = firstMatches(s.matches)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(within), limitTime) {
		err = limitTime
	}
	if errors.As(err, &s.stopped) {
		return nil
	}
	return err
}

// remark says what was not searched and what to do about it; empty if everything
// was searched.
func (s *search) remark() string {
	var text []string
	if s.stopped != "" {
		text = append(text, string(s.stopped))
	}
	if n := s.cut.Load(); n > 0 {
		text = append(text, fmt.Sprintf("%d lines are longer than 16 KiB, and the expression was applied to the first 16 KiB only: "+
			"search for literal text to search them whole.", n))
	}
	if n := s.long.Load(); n > 0 {
		text = append(text, fmt.Sprintf("%d lines are longer than 1 MiB, and only the first 1 MiB of them was searched.", n))
	}
	return strings.Join(text, " ")
}

// spend takes work from the budget before the work is done.
func (s *search) spend(work int64) error {
	for {
		spent := s.work.Load()
		if spent+work > s.budget {
			return limitWork
		}
		if s.work.CompareAndSwap(spent, spent+work) {
			return nil
		}
	}
}

// visit searches one file, and counts what cannot be searched.
func (s *search) visit(ctx context.Context, f capability.Found) error {
	if f.Err() != nil { // a directory that cannot be read
		s.skipped.Add(1)
		return nil //nolint:nilerr // it is counted, and the search goes on
	}
	if s.seen.Add(1) > s.maxFiles {
		return limitFiles
	}
	c := &scan{search: s, ctx: ctx, file: f, number: 1}
	err := c.run()
	s.work.Add(-c.allowance)
	var limit searchLimit
	switch {
	case err == nil, errors.As(err, &limit):
		s.add(c)
		return err
	case ctx.Err() != nil:
		s.add(c)
		return ctx.Err()
	default:
		s.skipped.Add(1)
		return nil
	}
}

// add takes over what was found in one file. It holds a bounded number of matches, the first ones.
func (s *search) add(c *scan) {
	s.cut.Add(c.cut)
	s.long.Add(c.long)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.searched++
	s.total += c.total
	if s.matches = append(s.matches, c.matches...); len(s.matches) > 20*grepWhole {
		s.matches = firstMatches(s.matches)
	}
}

// firstMatches sorts matches by path and line, and returns the first grepWhole.
func firstMatches(all []grepMatch) []grepMatch {
	slices.SortFunc(all, func(a, b grepMatch) int {
		return cmp.Or(comparePaths(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	return all[:min(len(all), grepWhole)]
}

// comparePaths orders paths by their parts, so that the files of a directory follow each other.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		if a[i] == '/' {
			return -1
		}
		if b[i] == '/' {
			return 1
		}
		return cmp.Compare(a[i], b[i])
	}
	return cmp.Compare(len(a), len(b))
}
