package openai

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// draft is a response, with the parts that have arrived. Texts are kept with their escapes until the
// end: see [frame.Value.Escaped].
type draft struct {
	content   []byte
	unread    frame.Unread // of content, or of refusal if there is no content
	spoken    bool         // there was a content, which may be empty
	parts     frame.Value  // the content of a whole response if it is an array; repeated unchanged
	refusal   []byte
	reasoning []byte
	audio     []byte // id
	calls     calls
	reason    string // finish_reason
	others    int    // the highest index of a choice
	usage     wire.Usage
	model     string
}

// count takes a usage. Some servers send one with each event: the last counts.
func (d *draft) count(v frame.Value) {
	if v.Kind() != '{' {
		return
	}
	read := v.Count("prompt_tokens_details", "cached_tokens")
	d.usage = wire.Usage{
		Reported: true, Input: max(v.Count("prompt_tokens")-read, 0), CacheRead: read,
		Output: v.Count("completion_tokens"), Reasoning: v.Count("completion_tokens_details", "reasoning_tokens"),
	}
}

// response returns the response with all parts of the draft. If the draft was cut, Finish does not
// depend on its reason.
func (d *draft) response(cut bool) wire.Response {
	r := wire.Response{Native: d.reason, Others: d.others, Text: frame.Loose(d.content), Usage: d.usage, Model: d.model}
	if r.Text == "" {
		r.Text = frame.Loose(d.refusal)
	}
	r.Calls = d.calls.finish(cut, d.reason)
	r.Finish = finishOf(d.reason, cut, len(r.Calls) > 0, len(d.refusal) > 0)
	r.Message = d.message()
	return r
}

func finishOf(reason string, cut, calls, refused bool) wire.Finish {
	switch {
	case cut:
		return wire.FinishCut
	case calls:
		return wire.FinishCalls
	case reason == "length":
		return wire.FinishLength
	case reason == "content_filter" || refused:
		return wire.FinishRefused
	case reason == "stop":
		return wire.FinishStop
	default: // for example tool_calls without a call
		return wire.FinishOther
	}
}

// message returns the assistant's message with only the members that a request may have. The provider
// refuses other members of a response, such as annotations and log probabilities, in a request.
func (d *draft) message() json.RawMessage {
	m := []byte(`{"role":"assistant","content":`)
	switch {
	case len(d.parts) > 0:
		m = append(m, d.parts...)
	case d.spoken:
		m = frame.Quote(m, frame.Loose(d.content))
	default:
		m = append(m, `null`...)
	}
	if len(d.refusal) > 0 {
		m = frame.Quote(append(m, `,"refusal":`...), frame.Loose(d.refusal))
	}
	if len(d.audio) > 0 {
		m = append(frame.Quote(append(m, `,"audio":{"id":`...), frame.Loose(d.audio)), '}')
	}
	// OpenAI has no reasoning_content. Servers that send it require it back in a message with calls,
	// and in no other message.
	if len(d.reasoning) > 0 && len(d.calls.all) > 0 {
		m = frame.Quote(append(m, `,"reasoning_content":`...), frame.Loose(d.reasoning))
	}
	for i, c := range d.calls.all {
		if i == 0 {
			m = append(m, `,"tool_calls":[`...)
		} else {
			m = append(m, ',')
		}
		m = append(m, c.repeated...)
	}
	if len(d.calls.all) > 0 {
		m = append(m, ']')
	}
	return append(m, '}')
}

// say adds a content: a text, or, from some servers, an array of parts with texts.
func (d *draft) say(content frame.Value) {
	d.spoken = d.spoken || !content.Null()
	d.add(content.Escaped())
	for part := range content.Elements() {
		var got [1]frame.Value
		if part.Pick(got[:], "text") == nil {
			d.add(got[0].Escaped())
		}
	}
}

func (d *draft) add(escaped []byte) {
	d.content = append(d.content, escaped...)
	d.unread.Add(escaped)
}
