package frame

import (
	"bytes"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// Lines splits a stream of one JSON value per line (NDJSON). Lines end with LF or
// CRLF; blank lines are ignored. The zero value is a stream before its first byte.
type Lines struct {
	line  []byte // the start of a line that has not ended
	taken int
}

// Write takes the next bytes and calls visit for every line that ends in them, without
// white space around the line. visit must not keep the line. Write returns the first error
// of visit, and [wire.ErrTooLarge] if the stream exceeds [wire.MaxResponse] bytes. Do not
// call Write after an error.
func (l *Lines) Write(p []byte, visit func(line []byte) error) error {
	if l.taken += len(p); l.taken > wire.MaxResponse {
		return wire.ErrTooLarge
	}
	for {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if !ended {
			l.line = append(l.line, p...)
			return nil
		}
		p = rest
		if len(l.line) > 0 {
			l.line = append(l.line, line...)
			line, l.line = l.line, l.line[:0]
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := visit(line); err != nil {
				return err
			}
		}
	}
}

// Rest returns the last line of a stream that ended without a line end. ok is false if the
// line is not one JSON value.
func (l *Lines) Rest() (line []byte, ok bool) { return bytes.TrimSpace(l.line), whole(l.line) }
