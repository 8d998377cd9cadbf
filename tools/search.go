package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/output/read"
)

// Bounds of one search.
const (
	searchFiles    = 10_000
	searchBytes    = 64 << 20
	searchFileSize = 1 << 20
	searchTime     = 2 * time.Second
	// searchWork bounds the work of a search, in instructions of its pattern times
	// bytes. Patterns made to be slow take 1 s to 3 s of a processor for it, so
	// searchTime ends some of them first; most others take a tenth of that. An
	// expression of 10 instructions gets through 24 MB.
	searchWork = 1 << 28
	// lineWork is what a line costs besides its bytes.
	lineWork = 16
	// searchText bounds the text of one match, in bytes; searchLead is what of
	// it stands before a match far to the right.
	searchText = 500
	searchLead = 100
)

// searchLimit is a limit at which a search stops: how it is told to the caller.
type searchLimit string

// The limits of a search.
const (
	limitFiles searchLimit = "The search stopped after 10000 files: narrow path or include."
	limitBytes searchLimit = "The search stopped after 64 MB: narrow path or include."
	limitTime  searchLimit = "The search stopped after 2 seconds: narrow path or include."
	limitWork  searchLimit = "The search stopped, for its pattern is costly on so much text: narrow path or include, or repeat less in the pattern."
)

// Error returns the text for the caller.
func (l searchLimit) Error() string { return string(l) }

// search collects matching lines.
type search struct {
	files   capability.Files
	pattern pattern
	// budget bounds work; both are in instructions times bytes.
	budget, work int64

	matches  []grepMatch // the first grepWhole
	total    int
	searched int
	skipped  int
	bytes    int64
	// stopped is the limit at which the search stopped; empty if everything was
	// searched. cut counts the lines of which an expression saw the beginning only.
	stopped searchLimit
	cut     int
}

// run searches what is below path. Reaching a limit is not an error: what was
// found until then is worth having.
func (s *search) run(ctx context.Context, path, include string) error {
	within, cancel := context.WithTimeoutCause(ctx, searchTime, limitTime)
	defer cancel()
	err := s.files.Walk(within, path, capability.WalkOptions{
		Include:  include,
		SkipDirs: []string{".git", ".hg", ".svn", "node_modules"},
	}, func(e capability.Entry, err error) error {
		switch {
		case err != nil:
			s.skipped++ // a directory that cannot be read
			return nil  //nolint:nilerr // it is counted, and the search goes on
		case e.Type != capability.TypeFile:
			return nil
		}
		return s.file(within, e)
	})
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
	text := string(s.stopped)
	if s.cut > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%s %d lines are longer than 16 KB, and the expression was applied to the first 16 KB only: "+
			"search for literal text to search them whole.", text, s.cut))
	}
	return text
}

// spend takes work from the budget, ahead of doing it.
func (s *search) spend(work int64) error {
	if s.work+work > s.budget {
		return limitWork
	}
	s.work += work
	return nil
}

// file searches one file as a whole: it is known to be small.
func (s *search) file(ctx context.Context, e capability.Entry) error {
	if e.Size > searchFileSize {
		s.skipped++
		return nil
	}
	if s.searched+s.skipped >= searchFiles {
		return limitFiles
	}
	if s.bytes+e.Size > searchBytes {
		return limitBytes
	}
	content, err := s.read(ctx, e.Path)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.bytes += int64(len(content))
	if err != nil || bytes.IndexByte(content, 0) >= 0 {
		s.skipped++
		return nil
	}
	s.searched++
	if err := s.spend(int64(len(content))); err != nil || !s.pattern.mayMatch(content) {
		return err
	}
	number := 0
	for line := range bytes.Lines(content) {
		number++
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.line(e.Path, number, bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))); err != nil {
			return err
		}
	}
	return nil
}

func (s *search) read(ctx context.Context, path string) ([]byte, error) {
	f, _, err := s.files.Open(ctx, path, searchFileSize)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	return io.ReadAll(f)
}

// line searches one line, which is the piece of work that nothing interrupts.
func (s *search) line(path string, number int, line []byte) error {
	if err := s.spend(int64(len(line)) + lineWork); err != nil || !s.pattern.mayMatch(line) {
		return err
	}
	if err := s.spend(s.pattern.work(line)); err != nil {
		return err
	}
	from, to, partly := s.pattern.find(line)
	if partly {
		s.cut++
	}
	if from < 0 {
		return nil
	}
	s.total++
	if len(s.matches) < grepWhole {
		s.matches = append(s.matches, grepMatch{Path: showable(path), Line: number, Text: excerpt(line, from, to)})
	}
	return nil
}

// excerpt returns the beginning of a line, or, where the match would not be in
// it, a part that begins shortly before the match.
func excerpt(line []byte, from, to int) string {
	if len(line) > searchText && to > searchText {
		line = line[read.RuneStart(line, max(0, from-searchLead)):]
	}
	return showable(string(line[:read.RuneStart(line, searchText)]))
}
