package tools

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/output/read"
)

// window is the part of a file that is shown.
type window struct {
	offset int // number of the first line
	text   []byte
	cut    bool // the text is only the head of what was asked for
	next   int  // the line to go on with, 0 at the end of the file
}

// readWindow reads the lines from offset on, at most limit of them.
func readWindow(r *bufio.Reader, offset, limit int) (window, error) {
	w := window{offset: offset}
	if err := skipLines(r, offset-1); errors.Is(err, io.EOF) {
		if offset == 1 {
			return w, nil // an empty file
		}
		return window{}, errPastEnd
	} else if err != nil {
		return window{}, err
	}
	text, err := take(r, limit, readWhole)
	if err != nil {
		return window{}, err
	}
	if bytes.IndexByte(text[:min(len(text), readWhole+1)], 0) >= 0 {
		return window{}, errNotText
	}
	w.text, w.cut = text, len(text) > readWhole
	if w.cut {
		w.text = head(text, readHead)
	}
	if !utf8.Valid(w.text) {
		return window{}, errNotUTF8
	}
	w.next, err = w.follow(r, text)
	return w, err
}

// follow returns the number of the line with which the next window begins, or 0 at the end of the
// file. text was read from r, and w.text is the shown part of it.
func (w window) follow(r *bufio.Reader, text []byte) (int, error) {
	ended := bytes.Count(w.text, []byte("\n"))
	if w.cut && ended > 0 {
		// This is the line that is shown in part, or the line after the last line that is shown whole.
		return w.offset + ended, nil
	}
	next := w.offset + countLines(w.text)
	// The rest of a line that is too long for a window is skipped.
	rest := text[len(w.text):]
	if end := bytes.IndexByte(rest, '\n'); end >= 0 && end < len(rest)-1 {
		return next, nil
	}
	open := 0
	if text[len(text)-1] != '\n' {
		open = 1
	}
	switch err := skipLines(r, open); {
	case err == nil, errors.Is(err, capability.ErrTooLarge): // there is more, in reach or not
		return next, nil
	case errors.Is(err, io.EOF):
		return 0, nil
	default:
		return 0, err
	}
}

// head cuts text to at most n bytes. It cuts after the last line end in the second half of these
// bytes, or else between two characters.
func head(text []byte, n int) []byte {
	cut := text[:n]
	if end := bytes.LastIndexByte(cut, '\n') + 1; end > n/2 {
		return cut[:end]
	}
	return text[:read.RuneStart(text, n)]
}

// countLines counts the lines of a text. The last line counts even if it has no newline.
func countLines(text []byte) int {
	lines := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		lines++
	}
	return lines
}

// numbered puts before each line its number, right-aligned in six columns, and
// a tab, as cat -n does.
func numbered(text []byte, first int) []byte {
	out := make([]byte, 0, len(text)+8*countLines(text))
	for line := range bytes.Lines(text) {
		out = fmt.Appendf(out, "%6d\t", first)
		out = append(out, line...)
		first++
	}
	return out
}
