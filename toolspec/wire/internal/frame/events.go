package frame

import (
	"bytes"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// Events splits a server-sent stream into its events by the rules of WHATWG HTML
// (section 9.2.6): lines end with LF, CRLF or CR; comments and unknown fields are
// ignored; several data lines of an event are joined by LF; an event without data is
// ignored. The zero value is a stream before its first byte.
type Events struct {
	line    []byte // the start of a line that has not ended
	name    []byte
	data    []byte
	held    bool // the event has a data line, which may be empty
	begun   bool // the first line was read
	afterCR bool // a LF that comes next belongs to the CR before it
	taken   int
}

// Write takes the next bytes and calls visit for every event that ends in them, with
// the event's name and data. visit must not keep the two slices. Write returns the first
// error of visit, and [wire.ErrTooLarge] if the stream exceeds [wire.MaxResponse] bytes.
// Do not call Write after an error.
func (e *Events) Write(p []byte, visit func(name, data []byte) error) error {
	if e.taken += len(p); e.taken > wire.MaxResponse {
		return wire.ErrTooLarge
	}
	for len(p) > 0 {
		if e.afterCR {
			e.afterCR = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		end := lineEnd(p)
		if end < 0 {
			e.line = append(e.line, p...)
			return nil
		}
		line := p[:end]
		e.afterCR = p[end] == '\r'
		p = p[end+1:]
		if len(e.line) > 0 {
			e.line = append(e.line, line...)
			line, e.line = e.line, e.line[:0]
		}
		if err := e.take(line, visit); err != nil {
			return err
		}
	}
	return nil
}

// Rest returns the last event of a stream that ended without the blank line after the
// event. ok is false if its data are not one JSON value. The rules of WHATWG drop such an
// event, but a complete JSON value shows that the event is complete. Call Rest once, after
// the last Write.
func (e *Events) Rest() (name, data []byte, ok bool) {
	if len(e.line) > 0 {
		e.field(e.line)
		e.line = nil
	}
	return e.name, e.data, whole(e.data)
}

func whole(data []byte) bool {
	_, err := Parse(data)
	return err == nil
}

func (e *Events) take(line []byte, visit func(name, data []byte) error) error {
	if !e.begun {
		e.begun = true
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	if len(line) > 0 {
		e.field(line)
		return nil
	}
	var err error
	if e.held {
		err = visit(e.name, e.data)
	}
	e.name, e.data, e.held = e.name[:0], e.data[:0], false
	return err
}

var byteOrderMark = []byte("\ufeff")

// field reads a line: a name, a colon, an optional space, and a value.
func (e *Events) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) { // a comment has an empty name
	case "data":
		if e.held {
			e.data = append(e.data, '\n')
		}
		e.data, e.held = append(e.data, value...), true
	case "event":
		e.name = append(e.name[:0], value...)
	}
}

// lineEnd returns the index of the first CR or LF in p, or -1.
func lineEnd(p []byte) int {
	end := bytes.IndexByte(p, '\n')
	line := p
	if end >= 0 {
		line = p[:end]
	}
	if cr := bytes.IndexByte(line, '\r'); cr >= 0 {
		return cr
	}
	return end
}
