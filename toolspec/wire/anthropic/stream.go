package anthropic

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// stream assembles a message from its events.
type stream struct {
	events frame.Events
	draft  draft
	// open are the blocks that have begun and not ended, by their index.
	open map[int]*block
	// last is the block of the last event. The next delta is usually for the same block.
	last      *block
	lastIndex int

	unread frame.Unread // of the text blocks

	ended bool                // message_stop came
	over  bool                // message_stop or an error came; later events are ignored
	sent  *wire.ProviderError // the error that the provider sent instead of the rest
	err   error               // the error that every later Write returns
}

var (
	errStart = errors.New("a message begins inside a message")
	errIndex = errors.New("an event of a content block that has not begun")
)

// Stream returns a decoder of server-sent events.
func (Codec) Stream() wire.Stream { return &stream{open: map[int]*block{}} }

// Write takes the next bytes of the stream.
func (s *stream) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if err := s.events.Write(p, s.event); err != nil {
		s.err = fmt.Errorf("anthropic: %w", err)
		return 0, s.err
	}
	return len(p), nil
}

// Text returns the text that arrived since the last call.
func (s *stream) Text() string { return s.unread.Take() }

// End returns the message. The message was cut if it has no message_stop or no stop_reason, if a block
// did not end, or if Write failed.
func (s *stream) End() (wire.Response, error) {
	if _, data, ok := s.events.Rest(); ok && s.err == nil {
		if err := s.event(nil, data); err != nil {
			s.err = fmt.Errorf("anthropic: %w", err)
		}
	}
	cut := !s.ended || s.err != nil || len(s.open) > 0 || s.draft.reason == ""
	if s.sent != nil {
		return s.draft.response(cut), s.sent
	}
	return s.draft.response(cut), nil
}

// event handles one event. It ignores the event's name, because the data repeat it as their type.
func (s *stream) event(_, data []byte) error {
	if s.over || len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	v, err := frame.Parse(data)
	if err != nil {
		return fmt.Errorf("the data of an event are %w", err)
	}
	var got [3]frame.Value
	if err := v.Pick(got[:], "type", "index", "delta"); err != nil {
		return err
	}
	switch string(kind(got[0])) {
	case "content_block_delta":
		b, err := s.block(got[1])
		if err != nil {
			return err
		}
		return s.delta(b, got[2])
	case "content_block_start":
		return s.start(v, got[1])
	case "content_block_stop":
		return s.stop(got[1])
	case "message_start":
		return s.message(v)
	case "message_delta":
		return s.reason(v, got[2])
	case "message_stop":
		s.ended, s.over = true, true
	case "error":
		var e [1]frame.Value
		if err := v.Pick(e[:], "error"); err != nil {
			return err
		}
		s.sent, s.over = providerError(e[0]), true
	}
	return nil // a ping, or an unknown event
}

// message handles message_start. A second message_start before the first block is accepted as a
// repetition; after a block it is an error, because it would begin another message. If a program of
// the provider called the tools, message_start has all content and the stop_reason, and no
// message_delta with a reason follows.
func (s *stream) message(v frame.Value) error {
	if len(s.draft.blocks) > 0 {
		return errStart
	}
	var got [1]frame.Value
	if err := v.Pick(got[:], "message"); err != nil {
		return err
	}
	var inner [3]frame.Value
	if err := got[0].Pick(inner[:], "content", "stop_reason", "usage"); err != nil {
		return err
	}
	s.draft.count(inner[2])
	s.draft.model = got[0].TextOf("model")
	s.setReason(inner[1])
	for content := range inner[0].Elements() {
		b, err := begin(bytes.Clone(content))
		if err != nil {
			return err
		}
		b.closed = true
		if err := s.draft.add(b); err != nil {
			return err
		}
		s.unread.Add(b.text())
	}
	return nil
}

// start handles content_block_start. The same start again, before any delta, is accepted as a
// repetition. Any other start with the index of an open block is an error, because it would not be
// clear to which block the next deltas belong.
func (s *stream) start(v, index frame.Value) error {
	i, ok := index.Int()
	if !ok {
		return errIndex
	}
	var got [1]frame.Value
	if err := v.Pick(got[:], "content_block"); err != nil {
		return err
	}
	if old := s.open[i]; old != nil {
		if !old.touched && bytes.Equal(old.start, got[0]) {
			return nil
		}
		return fmt.Errorf("content block %d begins again before it ended", i)
	}
	b, err := begin(bytes.Clone(got[0]))
	if err != nil {
		return err
	}
	if err := s.draft.add(b); err != nil {
		return err
	}
	s.open[i], s.last, s.lastIndex = b, b, i
	s.unread.Add(b.text())
	return nil
}

// delta adds a delta to a block.
func (s *stream) delta(b *block, delta frame.Value) error {
	before := len(b.body)
	if err := b.add(delta); err != nil {
		return err
	}
	if b.kind == "text" {
		s.unread.Add(b.body[before:])
	}
	return nil
}

func (s *stream) stop(index frame.Value) error {
	b, err := s.block(index)
	if err != nil {
		return err
	}
	b.closed = true
	delete(s.open, s.lastIndex)
	s.last = nil
	return nil
}

// block returns the open block with an index. It returns errIndex if there is none.
func (s *stream) block(index frame.Value) (*block, error) {
	i, ok := index.Int()
	if !ok {
		return nil, errIndex
	}
	if s.last == nil || s.lastIndex != i {
		if s.last, s.lastIndex = s.open[i], i; s.last == nil {
			return nil, errIndex
		}
	}
	return s.last, nil
}

// reason handles message_delta.
func (s *stream) reason(v, delta frame.Value) error {
	var got [1]frame.Value
	if err := v.Pick(got[:], "usage"); err != nil {
		return err
	}
	s.draft.count(got[0])
	if err := delta.Pick(got[:], "stop_reason"); err != nil {
		return err
	}
	s.setReason(got[0])
	return nil
}

// setReason keeps a stop_reason that is not null.
func (s *stream) setReason(reason frame.Value) {
	if !reason.Null() {
		s.draft.reason = reason.Loose()
	}
}
