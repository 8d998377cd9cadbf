package frame

import (
	"bytes"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// Lines splits a stream of one JSON value per line (NDJSON). Lines end with LF or
// CRLF; blank ones are passed over. Its zero value is a stream before its first
// byte.
type Lines struct {
	line  []byte // the start of a line that has not ended
	taken int
}

// Write takes the next bytes and calls each for every line that ends in them,
// without its white space; the line is good until each returns. It stops at the
// first error of each, and with [wire.ErrTooLarge] where the stream exceeds
// [wire.MaxResponse] bytes; after an error it must not be called again.
func (l *Lines) Write(p []byte, each func(line []byte) error) error {
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
			if err := each(line); err != nil {
				return err
			}
		}
	}
}

// Rest is the last line where the stream ended without a line end and the line is a
// whole JSON value.
func (l *Lines) Rest() (line []byte, ok bool) { return bytes.TrimSpace(l.line), whole(l.line) }
