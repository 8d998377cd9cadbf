package gemini

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// stream assembles a response from its events, or from the elements of the array that the provider
// sends without alt=sse. The first byte shows which of the two it is.
type stream struct {
	events frame.Events
	array  array
	kind   byte // [ or { for JSON, anything else for events, 0 before the first byte
	taken  int
	draft  draft
	err    error // the error that every later Write returns
}

var errArray = errors.New("not one array of responses")

// Stream returns a decoder of a streamed response.
func (Codec) Stream() wire.Stream { return &stream{} }

// Write takes the next bytes of the stream.
func (s *stream) Write(p []byte) (int, error) {
	if s.err == nil {
		if err := s.write(p); err != nil {
			s.err = fmt.Errorf("gemini: %w", err)
		}
	}
	if s.err != nil {
		return 0, s.err
	}
	return len(p), nil
}

func (s *stream) write(p []byte) error {
	if s.taken += len(p); s.taken > wire.MaxResponse {
		return wire.ErrTooLarge
	}
	if s.kind == 0 {
		first := bytes.TrimLeft(p, " \t\r\n")
		if len(first) == 0 {
			return nil
		}
		s.kind = first[0]
		s.array.bare = s.kind == '{'
	}
	if s.kind == '[' || s.kind == '{' {
		return s.array.write(p, s.draft.take)
	}
	return s.events.Write(p, s.event)
}

// Text returns the text that arrived since the last call.
func (s *stream) Text() string { return s.draft.unread.Take() }

// End returns the response.
func (s *stream) End() (wire.Response, error) {
	if _, data, ok := s.events.Rest(); ok && s.err == nil {
		if err := s.draft.take(data); err != nil {
			s.err = fmt.Errorf("gemini: %w", err)
		}
	}
	r := s.draft.response(s.err != nil || s.draft.sent != nil || s.kind == '[' && !s.array.ended)
	if s.draft.sent != nil {
		return r, s.draft.sent
	}
	return r, nil
}

func (s *stream) event(_, data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	return s.draft.take(data)
}

// array splits a JSON array into its elements. It does not check that they are valid JSON; the function
// that takes an element does. If bare is true, the input is not an array but objects one after another:
// the provider sends an error in this form.
type array struct {
	bare, begun, ended bool
	element            []byte
	depth              int
	quoted, escaped    bool
}

func (a *array) write(p []byte, each func([]byte) error) error {
	from := 0
	for i, c := range p {
		switch {
		case a.quoted:
			a.quoted = a.escaped || c != '"'
			a.escaped = !a.escaped && c == '\\'
		case c == '"' && a.depth > 0:
			a.quoted = true
		case (c == '{' || c == '[') && (a.depth > 0 || a.bare || a.begun && !a.ended):
			if a.depth == 0 {
				from = i
			}
			a.depth++
		case (c == '}' || c == ']') && a.depth > 0:
			if a.depth--; a.depth > 0 {
				continue
			}
			element := p[from : i+1]
			if len(a.element) > 0 {
				a.element = append(a.element, element...)
				element, a.element = a.element, a.element[:0]
			}
			if err := each(element); err != nil {
				return err
			}
		case a.depth > 0:
		case c == '[' && !a.begun:
			a.begun = true
		case c == ']' && a.begun && !a.ended:
			a.ended = true
		case c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == ',' && a.begun && !a.ended:
		default:
			return errArray
		}
	}
	if a.depth > 0 {
		a.element = append(a.element, p[from:]...)
	}
	return nil
}
