package tools

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// Bounds of one search.
const (
	searchFiles    = 10_000
	searchBytes    = 64 << 20
	searchFileSize = 1 << 20
	// searchTime leaves the rest of the attempt's budget for answering. The
	// last line may add what pattern.find takes.
	searchTime = 2 * time.Second
	// searchText bounds the text of one match, in bytes; searchLead is what of
	// it stands before a match far to the right.
	searchText = 500
	searchLead = 100
)

// search collects matching lines.
type search struct {
	files   capability.Files
	pattern pattern

	matches    []grepMatch // the first grepWhole
	total      int
	searched   int
	skipped    int
	bytes      int64
	incomplete bool
}

var (
	errSearchLimit = errors.New("a limit of the search is reached")
	errSearchTime  = errors.New("the time of the search is up")
)

// run searches what is below path. Reaching a limit is not an error: what was
// found until then is worth having.
func (s *search) run(ctx context.Context, path, include string) error {
	within, cancel := context.WithTimeoutCause(ctx, searchTime, errSearchTime)
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
	timeUp := ctx.Err() == nil && errors.Is(context.Cause(within), errSearchTime)
	if errors.Is(err, errSearchLimit) || err != nil && timeUp {
		s.incomplete = true
		return nil
	}
	return err
}

// file searches one file as a whole: it is known to be small.
func (s *search) file(ctx context.Context, e capability.Entry) error {
	if e.Size > searchFileSize {
		s.skipped++
		return nil
	}
	if s.searched+s.skipped >= searchFiles || s.bytes+e.Size > searchBytes {
		return errSearchLimit
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
	if s.pattern.expr == nil && !bytes.Contains(content, s.pattern.literal) {
		return nil
	}
	number := 0
	for line := range bytes.Lines(content) {
		number++
		if err := ctx.Err(); err != nil {
			return err
		}
		s.line(e.Path, number, bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")))
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

func (s *search) line(path string, number int, line []byte) {
	from, to, partly := s.pattern.find(line)
	if partly {
		s.incomplete = true
	}
	if from < 0 {
		return
	}
	s.total++
	if len(s.matches) < grepWhole {
		s.matches = append(s.matches, grepMatch{Path: showable(path), Line: number, Text: excerpt(line, from, to)})
	}
}

// excerpt returns the beginning of a line, or, where the match would not be in
// it, a part that begins shortly before the match.
func excerpt(line []byte, from, to int) string {
	if len(line) > searchText && to > searchText {
		line = line[runeStart(line, max(0, from-searchLead)):]
	}
	return showable(string(line[:runeStart(line, searchText)]))
}
