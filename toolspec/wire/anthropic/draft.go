package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// draft is a message as far as it came.
type draft struct {
	blocks []*block
	calls  int
	reason string // stop_reason
}

// add takes the next block.
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

// response assembles. In a message that was cut no call counts as closed, and
// none in one that a classifier withdrew; where the model was stopped by a limit
// the block at the end may be cut, however whole it looks.
func (d *draft) response(cut bool) wire.Response {
	r := wire.Response{Native: d.reason}
	withdrawn := cut || d.reason == "refusal"
	limited := d.reason == "max_tokens" || d.reason == "model_context_window_exceeded"
	var text []byte
	message := []byte(`{"role":"assistant","content":[`)
	start := len(message)
	for i, b := range d.blocks {
		last := i == len(d.blocks)-1
		v := b.whole()
		// Half a thought, or half of what a server did, is refused in a request.
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
			// Models say nothing now and then, and requests may not.
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

// call reads the block of a call, and gives it as the message repeats it: with an
// id, for the format pairs results by it, with a name and an input that a request
// may have, and otherwise as it came.
func (b *block) call(v frame.Value, index int) (wire.Call, frame.Value) {
	var got [2]frame.Value
	err := b.start.Pick(got[:], "id", "name")
	c := wire.Call{Index: index, ID: got[0].Loose(), Name: got[1].Loose()}
	args, ok := b.input()
	if c.Args = bytes.Clone(args); err != nil || !ok || b.broken || c.Name == "" {
		c.Fault = toolspec.CodeInvalidJSON
	}
	c.Raw = json.RawMessage(v)
	if err != nil { // two ids or two names: one of each is left
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

// asInput is the block with an empty input where its own is no object, which a
// request may not repeat; nil where it may.
func asInput(v frame.Value) frame.Value {
	var got [1]frame.Value
	if v.Pick(got[:], "input") == nil && got[0].Kind() == '{' {
		return nil
	}
	return set(v, "input", []byte("{}"))
}

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
