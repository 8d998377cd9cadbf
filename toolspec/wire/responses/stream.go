package responses

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// Stream begins a decoder for one stream of response events.
func (Codec) Stream() wire.Stream { return &stream{items: map[int]*item{}} }

type stream struct {
	events frame.Events
	items  map[int]*item // by output_index
	last   *item
	lastAt int
	head   head // of the last event
	ended  bool // the last event came; later events are ignored
	unread frame.Unread
	failed error // what Write failed with
	sent   *wire.ProviderError
}

// item is one item of the output, with the parts that have arrived.
type item struct {
	raw  frame.Value // the item of output_item.added, and later the item of output_item.done
	done bool
	call bool // the item is a function_call
	args []byte
	// closed says that function_call_arguments.done came, so args is complete.
	closed bool
	text   []byte // output_text so far, for a message that is cut
}

func (s *stream) Write(p []byte) (int, error) {
	if s.failed == nil {
		if err := s.events.Write(p, s.event); err != nil {
			s.failed = fmt.Errorf("not a stream of the Responses API: %w", err)
		}
	}
	if s.failed != nil {
		return 0, s.failed
	}
	return len(p), nil
}

// Text returns the text that arrived since the last call.
func (s *stream) Text() string { return s.unread.Take() }

// event handles one event. It ignores the event's name, because the data repeat it as their type.
func (s *stream) event(_, data []byte) error {
	if s.ended || string(bytes.TrimSpace(data)) == "[DONE]" {
		return nil
	}
	v, err := frame.Parse(data)
	if err != nil {
		return err
	}
	var got [3]frame.Value
	if err := v.Pick(got[:], "type", "output_index", "delta"); err != nil {
		return err
	}
	switch kind := string(got[0].Escaped()); kind {
	case "response.function_call_arguments.delta", "response.output_text.delta":
		it, err := s.item(got[1])
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		if kind == "response.output_text.delta" {
			it.text = append(it.text, got[2].Escaped()...)
			s.unread.Add(got[2].Escaped())
		} else if it.call = true; !it.closed {
			it.args = append(it.args, got[2].Escaped()...)
		}
	case "response.refusal.delta":
		s.unread.Add(got[2].Escaped())
	case "response.output_item.added", "response.output_item.done", "response.function_call_arguments.done":
		if err := s.step(v, kind, got[1]); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	case "response.completed", "response.incomplete", "response.failed":
		return s.end(v, kind)
	case "error", "": // data without a type are not of the format, but may have an error
		return s.error(v, kind)
	}
	return nil // events about progress, and unknown events
}

func (s *stream) item(index frame.Value) (*item, error) {
	i, ok := index.Int()
	if !ok || i < 0 {
		return nil, errors.New("there is no output_index")
	}
	if s.last == nil || s.lastAt != i {
		if s.items[i] == nil {
			s.items[i] = new(item)
		}
		s.last, s.lastAt = s.items[i], i
	}
	return s.last, nil
}

// step handles an event that has a new item, a finished item, or all arguments of an item.
func (s *stream) step(v frame.Value, kind string, index frame.Value) error {
	it, err := s.item(index)
	if err != nil {
		return err
	}
	var got [2]frame.Value
	if err := v.Pick(got[:], "item", "arguments"); err != nil {
		return err
	}
	if kind == "response.function_call_arguments.done" {
		if it.closed = got[1].Kind() == '"'; !it.closed {
			return errors.New("there are no arguments")
		}
		it.args, it.call = append(it.args[:0], got[1].Escaped()...), true
		return nil
	}
	if it.done { // a repeated event
		return nil
	}
	var what [1]frame.Value
	if err := got[0].Pick(what[:], "type"); err != nil {
		return err
	}
	it.raw, it.done = bytes.Clone(got[0]), kind == "response.output_item.done"
	it.call = string(what[0].Escaped()) == "function_call"
	return nil
}

func (s *stream) end(v frame.Value, kind string) error {
	var got [1]frame.Value
	if err := v.Pick(got[:], "response"); err != nil {
		return err
	}
	h, err := readHead(got[0], strings.TrimPrefix(kind, "response."))
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	s.ended, s.head = true, h
	s.head.output = bytes.Clone(h.output)
	if kind == "response.failed" || !h.failure.Null() {
		s.sent = providerError(h.failure)
	}
	return nil
}

func (s *stream) error(v frame.Value, kind string) error {
	var got [1]frame.Value
	if err := v.Pick(got[:], "error"); err != nil {
		return err
	}
	switch {
	case !got[0].Null():
		s.sent, s.ended = providerError(got[0]), true
	case kind == "error":
		s.sent, s.ended = providerError(v), true
	}
	return nil
}

// End returns the response. Its items come from the output of the last event. If that output is
// empty, they come from the earlier events.
func (s *stream) End() (wire.Response, error) {
	if name, data, ok := s.events.Rest(); ok && s.failed == nil {
		s.failed = s.event(name, data)
	}
	d := draft{ending: s.head.ending}
	d.cut = d.cut || !s.ended || s.failed != nil || s.sent != nil
	items := 0
	for item := range s.head.output.Elements() {
		items++
		if err := d.take(item, d.status == "completed"); err != nil {
			return s.refuse(err)
		}
	}
	if items == 0 {
		for _, i := range slices.Sorted(maps.Keys(s.items)) {
			if err := s.items[i].into(&d); err != nil {
				return s.refuse(err)
			}
		}
	}
	if s.sent != nil {
		return d.finish(), s.sent
	}
	return d.finish(), nil
}

func (s *stream) refuse(err error) (wire.Response, error) {
	return wire.Response{Finish: wire.FinishCut}, fmt.Errorf("not a stream of the Responses API: %w", err)
}

// into adds an item of the stream to a draft: the finished item, or else a function_call or a message
// that is built from the parts that have arrived.
func (it *item) into(d *draft) error {
	switch {
	case it.done:
		return d.take(it.raw, d.status == "completed")
	case it.call:
		var got [3]frame.Value
		if len(it.raw) > 0 { // otherwise no output_item.added came, and the call has no name
			if err := it.raw.Pick(got[:], "call_id", "name", "namespace"); err != nil {
				return fmt.Errorf("function_call: %w", err)
			}
		}
		made := []byte(`{"type":"function_call","call_id":"`)
		made = append(append(made, got[0].Escaped()...), `","name":"`...)
		made = append(append(made, got[1].Escaped()...), `","arguments":"`...)
		made = append(append(made, it.args...), `"`...)
		if namespace := got[2].Escaped(); len(namespace) > 0 {
			made = append(append(append(made, `,"namespace":"`...), namespace...), '"')
		}
		if !it.closed {
			made = append(made, `,"status":"incomplete"`...)
		}
		return d.take(append(made, '}'), it.closed && d.status == "completed")
	case len(it.text) > 0:
		made := []byte(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":`)
		return d.take(append(frame.Quote(made, frame.Loose(it.text)), `,"annotations":[]}]}`...), false)
	default: // a request cannot repeat an item that is not complete
		return nil
	}
}
