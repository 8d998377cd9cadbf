package ollama

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

var errNoMessage = errors.New("ollama: the response has no message")

// Decode reads a response that was not streamed.
func (Codec) Decode(response []byte) (wire.Response, error) {
	if len(response) > wire.MaxResponse {
		return wire.Response{}, fmt.Errorf("ollama: %w", wire.ErrTooLarge)
	}
	var d draft
	if err := d.take(bytes.Clone(response), true); err != nil {
		return wire.Response{}, fmt.Errorf("ollama: %w", err)
	}
	if d.sent != nil {
		return wire.Response{}, d.sent
	}
	if !d.begun {
		return wire.Response{}, errNoMessage
	}
	return d.response(), nil
}

// stream assembles a response from its lines.
type stream struct {
	lines frame.Lines
	draft draft
	err   error // the error that every later Write returns
}

// Stream returns a decoder of lines of JSON.
func (Codec) Stream() wire.Stream { return &stream{} }

// Write takes the next bytes of the stream.
func (s *stream) Write(p []byte) (int, error) {
	if s.err == nil {
		if err := s.lines.Write(p, s.line); err != nil {
			s.err = fmt.Errorf("ollama: %w", err)
		}
	}
	if s.err != nil {
		return 0, s.err
	}
	return len(p), nil
}

// Text returns the text that arrived since the last call.
func (s *stream) Text() string { return s.draft.unread.Take() }

// End returns the response.
func (s *stream) End() (wire.Response, error) {
	if rest, ok := s.lines.Rest(); ok && s.err == nil {
		if err := s.line(rest); err != nil {
			s.err = fmt.Errorf("ollama: %w", err)
		}
	}
	s.draft.ended = s.draft.ended && s.err == nil
	if s.draft.sent != nil {
		return s.draft.response(), s.draft.sent
	}
	return s.draft.response(), nil
}

func (s *stream) line(line []byte) error { return s.draft.take(line, false) }
