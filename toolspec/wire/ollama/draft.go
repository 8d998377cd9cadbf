package ollama

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// draft is a response, with the parts that have arrived. Texts are kept with their escapes until the
// end: see [frame.Value.Escaped].
type draft struct {
	begun    bool        // a message came
	ended    bool        // "done":true came
	whole    frame.Value // the message of a response that was not streamed
	content  []byte
	unread   frame.Unread // of content
	thinking []byte
	images   []byte // ,value,value
	calls    []wire.Call
	reason   string              // done_reason
	sent     *wire.ProviderError // the error that the provider sent instead of the rest
	over     bool                // an error came; later lines are ignored
	usage    wire.Usage
	model    string
}

var (
	errAfter = errors.New("a message goes on behind its end")
	errRole  = errors.New("the role is another than assistant")
)

// take adds a whole response or a line of a stream. It keeps slices of a whole response, so the caller
// must not change the bytes of such a response afterwards.
func (d *draft) take(data []byte, whole bool) error {
	if d.over {
		return nil
	}
	v, err := frame.Parse(data)
	if err != nil {
		return fmt.Errorf("the response is %w", err)
	}
	var got [4]frame.Value
	if err := v.Pick(got[:], "message", "done", "done_reason", "error"); err != nil {
		return err
	}
	if !got[3].Null() {
		d.sent, d.over = providerError(got[3]), true
		return nil
	}
	if d.ended {
		return errAfter
	}
	if d.model == "" {
		d.model = v.TextOf("model")
	}
	if !got[0].Null() {
		if err := d.message(got[0], whole); err != nil {
			return fmt.Errorf("message: %w", err)
		}
	}
	if got[1].Kind() == 't' {
		d.ended, d.reason = true, got[2].Loose()
		d.usage = wire.Usage{Input: v.Count("prompt_eval_count"), Output: v.Count("eval_count")}
		d.usage.Reported = d.usage != wire.Usage{}
	}
	return nil
}

// message adds a message, or the next piece of a message.
func (d *draft) message(v frame.Value, whole bool) error {
	var got [5]frame.Value
	if err := v.Pick(got[:], "content", "thinking", "images", "tool_calls", "role"); err != nil {
		return err
	}
	// The next request repeats the message. With another role, it would be text of the user or of a
	// tool.
	if !got[4].Null() && string(got[4].Escaped()) != "assistant" {
		return errRole
	}
	d.begun = true
	if whole {
		d.whole = v
	}
	d.content = append(d.content, got[0].Escaped()...)
	d.unread.Add(got[0].Escaped())
	d.thinking = append(d.thinking, got[1].Escaped()...)
	for image := range got[2].Elements() {
		d.images = append(append(d.images, ','), image...)
	}
	if !got[3].Null() && got[3].Kind() != '[' {
		return errors.New("tool_calls is no array")
	}
	for call := range got[3].Elements() {
		if len(d.calls) == wire.MaxCalls {
			return wire.ErrTooLarge
		}
		if !whole {
			call = bytes.Clone(call)
		}
		d.calls = append(d.calls, read(call, len(d.calls)))
	}
	return nil
}

// read returns the call of an element of tool_calls. An element is always a whole call. read ignores its
// function.index, because some parsers of the server do not count it.
func read(v frame.Value, index int) wire.Call {
	c := wire.Call{Index: index, Raw: json.RawMessage(v)}
	var got, function [2]frame.Value
	err := v.Pick(got[:], "id", "function")
	if err == nil {
		err = got[1].Pick(function[:], "name", "arguments")
	}
	c.ID, c.Name = got[0].Loose(), function[0].Loose()
	c.Args = bytes.Clone(function[1])
	if err != nil || c.Name == "" {
		c.Fault = toolspec.CodeInvalidJSON
	}
	return c
}

// response returns the response with all parts of the draft. All calls get the Fault incomplete if the
// response was cut. If a limit stopped the model, only the last call gets it.
func (d *draft) response() wire.Response {
	r := wire.Response{Native: d.reason, Text: frame.Loose(d.content), Calls: d.calls, Usage: d.usage, Model: d.model}
	cut := !d.ended || d.reason == ""
	for i := range r.Calls {
		if cut || d.reason == "length" && i == len(r.Calls)-1 {
			r.Calls[i].Fault = toolspec.CodeIncomplete
		}
	}
	switch {
	case cut:
		r.Finish = wire.FinishCut
	case len(r.Calls) > 0:
		r.Finish = wire.FinishCalls
	case d.reason == "stop":
		r.Finish = wire.FinishStop
	case d.reason == "length":
		r.Finish = wire.FinishLength
	default: // for example load and unload, the reasons after a request without messages
		r.Finish = wire.FinishOther
	}
	r.Message = d.repeated()
	return r
}

// repeated returns the assistant's message as the next request has it.
func (d *draft) repeated() json.RawMessage {
	if d.whole != nil {
		return json.RawMessage(d.whole)
	}
	m := append([]byte(`{"role":"assistant","content":"`), d.content...)
	m = append(m, '"')
	if len(d.thinking) > 0 {
		m = append(append(append(m, `,"thinking":"`...), d.thinking...), '"')
	}
	if len(d.images) > 0 {
		m = append(append(append(m, `,"images":[`...), d.images[1:]...), ']')
	}
	for i, c := range d.calls {
		if i == 0 {
			m = append(m, `,"tool_calls":[`...)
		} else {
			m = append(m, ',')
		}
		m = append(m, c.Raw...)
	}
	if len(d.calls) > 0 {
		m = append(m, ']')
	}
	return append(m, '}')
}

// providerError reads the member error, which is a text.
func providerError(v frame.Value) *wire.ProviderError {
	return &wire.ProviderError{Message: v.Loose(), Raw: bytes.Clone(v)}
}
