package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// draft is a message, with the blocks that have arrived.
type draft struct {
	blocks []*block
	calls  int
	reason string // stop_reason
	usage  wire.Usage
	model  string
}

// count reads a usage. The usage of message_delta has the final sums. It may lack counts that the
// usage of message_start had.
func (d *draft) count(v frame.Value) {
	if v.Kind() != '{' {
		return
	}
	d.usage.Reported = true
	for _, c := range []struct {
		name string
		into *int64
	}{
		{"input_tokens", &d.usage.Input}, {"cache_read_input_tokens", &d.usage.CacheRead},
		{"cache_creation_input_tokens", &d.usage.CacheWrite}, {"output_tokens", &d.usage.Output},
	} {
		if n := v.Count(c.name); n > 0 {
			*c.into = n
		}
	}
}

// add appends the next block. It returns wire.ErrTooLarge if the message has too many calls.
func (d *draft) add(b *block) error {
	if b.isCall() {
		if d.calls == wire.MaxCalls {
			return wire.ErrTooLarge
		}
		d.calls++
	}
	d.blocks = append(d.blocks, b)
	return nil
}

// response returns the response with all blocks. All calls get the Fault incomplete if the message was
// cut or if a classifier of the provider refused it. If a limit stopped the model, only a call in the
// last block gets the Fault, because that block may be cut even if it looks complete.
func (d *draft) response(cut bool) wire.Response {
	r := wire.Response{Native: d.reason, Usage: d.usage, Model: d.model}
	withdrawn := cut || d.reason == "refusal"
	limited := d.reason == "max_tokens" || d.reason == "model_context_window_exceeded"
	var text []byte
	message := []byte(`{"role":"assistant","content":[`)
	start := len(message)
	for i, b := range d.blocks {
		last := i == len(d.blocks)-1
		v := b.whole()
		// The provider refuses a request with an incomplete block of thinking or of a tool that
		// the provider ran.
		repeated := b.closed || b.isCall() || b.kind == "text"
		switch {
		case b.isCall():
			var c wire.Call
			c, v = b.call(v, len(r.Calls))
			if withdrawn || limited && last {
				c.Fault = toolspec.CodeIncomplete
			}
			r.Calls = append(r.Calls, c)
		case b.isPassed():
			r.Passed = append(r.Passed, json.RawMessage(v))
		case b.kind == "text":
			words := said(v)
			text = append(text, words...)
			// Models sometimes send an empty text, and a request must not contain one.
			repeated = strings.TrimSpace(frame.Loose(words)) != ""
		}
		if !repeated {
			continue
		}
		if len(message) > start {
			message = append(message, ',')
		}
		message = append(message, v...)
	}
	r.Text = frame.Loose(text)
	r.Finish = finishOf(d.reason, cut, len(r.Calls) > 0)
	message = append(message, `]}`...)
	r.Message = message
	return r
}

// call returns the call of a block, and the block as the next request repeats it. The repeated block
// has an id, because the format pairs results with calls by the id, and a name and an input that a
// request may have. Everything else in it is unchanged.
func (b *block) call(v frame.Value, index int) (wire.Call, frame.Value) {
	var got [2]frame.Value
	err := b.start.Pick(got[:], "id", "name")
	c := wire.Call{Index: index, ID: got[0].Loose(), Name: got[1].Loose()}
	args, ok := b.input()
	if c.Args = bytes.Clone(args); err != nil || !ok || b.broken || c.Name == "" {
		c.Fault = toolspec.CodeInvalidJSON
	}
	c.Raw = json.RawMessage(v)
	if err != nil { // the block has two ids or two names: build it anew
		v = frame.Value(`{"type":"tool_use"}`)
		v = set(v, "id", frame.Quote(nil, frame.CallID(c.ID, index)))
	} else if c.ID == "" {
		v = set(v, "id", frame.Quote(nil, frame.CallID("", index)))
	}
	if err != nil || !wire.SafeName(c.Name) {
		v = set(v, "name", frame.Quote(nil, wire.Repeatable(c.Name)))
	}
	if fixed := asInput(v); fixed != nil {
		v = fixed
	}
	return c, v
}

// asInput returns the block with an empty input if its input is not an object, because a request must
// not repeat such an input. It returns nil if the block needs no change.
func asInput(v frame.Value) frame.Value {
	var got [1]frame.Value
	if v.Pick(got[:], "input") == nil && got[0].Kind() == '{' {
		return nil
	}
	return set(v, "input", []byte("{}"))
}

// said returns the text of a text block, with its escapes.
func said(v frame.Value) []byte {
	var got [1]frame.Value
	if v.Pick(got[:], "text") != nil {
		return nil
	}
	return got[0].Escaped()
}

func finishOf(reason string, cut, calls bool) wire.Finish {
	switch {
	case cut:
		return wire.FinishCut
	case calls:
		return wire.FinishCalls
	}
	switch reason {
	case "end_turn", "stop_sequence":
		return wire.FinishStop
	case "max_tokens", "model_context_window_exceeded":
		return wire.FinishLength
	case "refusal":
		return wire.FinishRefused
	default: // pause_turn, and tool_use without a call
		return wire.FinishOther
	}
}
