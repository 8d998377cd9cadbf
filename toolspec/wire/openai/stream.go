package openai

import (
	"bytes"
	"fmt"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// Stream returns a decoder for one stream of chat.completion.chunk events.
func (Codec) Stream() wire.Stream { return new(stream) }

type stream struct {
	events frame.Events
	draft  draft
	done   bool  // [DONE] came; later events are ignored
	failed error // the error that every later Write returns
	sent   *wire.ProviderError
}

func (s *stream) Write(p []byte) (int, error) {
	if s.failed == nil {
		if err := s.events.Write(p, s.event); err != nil {
			s.failed = fmt.Errorf("not a stream of Chat Completions: %w", err)
		}
	}
	if s.failed != nil {
		return 0, s.failed
	}
	return len(p), nil
}

// Text returns the text that arrived since the last call.
func (s *stream) Text() string { return s.draft.unread.Take() }

// End returns the response. A stream is complete if its first choice has a finish_reason and no error
// came. [DONE] alone does not show this, because proxies send it after a failure too.
func (s *stream) End() (wire.Response, error) {
	if name, data, ok := s.events.Rest(); ok && s.failed == nil {
		s.failed = s.event(name, data)
	}
	r := s.draft.response(s.failed != nil || s.sent != nil || s.draft.reason == "")
	if s.sent != nil {
		return r, s.sent
	}
	return r, nil
}

func (s *stream) event(name, data []byte) error {
	if s.done || s.sent != nil {
		return nil
	}
	if string(bytes.TrimSpace(data)) == "[DONE]" {
		s.done = true
		return nil
	}
	v, err := frame.Parse(data)
	if err != nil {
		return err
	}
	var top [3]frame.Value
	if err := v.Pick(top[:], "choices", "error", "usage"); err != nil {
		return err
	}
	switch {
	case !top[1].Null():
		s.sent = providerError(top[1])
		return nil
	case string(name) == "error": // Some other servers send the error as an event.
		s.sent = providerError(v)
		return nil
	}
	s.draft.count(top[2])
	if s.draft.model == "" {
		s.draft.model = v.TextOf("model")
	}
	for choice := range top[0].Elements() {
		if err := s.choice(choice); err != nil {
			return fmt.Errorf("choices: %w", err)
		}
	}
	return nil
}

func (s *stream) choice(v frame.Value) error {
	var got [3]frame.Value
	if err := v.Pick(got[:], "index", "delta", "finish_reason"); err != nil {
		return err
	}
	if i, _ := got[0].Int(); i != 0 {
		s.draft.others = max(s.draft.others, i)
		return nil
	}
	if !got[1].Null() {
		before := s.draft.calls.pieces
		if err := s.draft.take(got[1], false); err != nil {
			return fmt.Errorf("delta: %w", err)
		}
		// A piece of a call after the finish_reason shows that the choice had not ended.
		if s.draft.calls.pieces != before {
			s.draft.reason = ""
		}
	}
	if reason := got[2].Escaped(); len(reason) > 0 {
		s.draft.reason = frame.Loose(reason)
	}
	return nil
}
