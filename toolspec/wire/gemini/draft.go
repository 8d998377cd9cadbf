package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// draft is a response, with the parts that have arrived.
type draft struct {
	parts   []part
	calls   int
	begun   bool                // a candidate came, or the reason why there is none
	reason  string              // finishReason
	blocked string              // promptFeedback.blockReason
	others  int                 // the highest index of a candidate
	unread  frame.Unread        // of the texts
	sent    *wire.ProviderError // the error that the provider sent instead of the rest
	usage   wire.Usage
	model   string // modelVersion
}

// count takes a usageMetadata. Each piece of a stream has one: the last counts.
func (d *draft) count(v frame.Value) {
	if v.Kind() != '{' {
		return
	}
	read, thought := v.Count("cachedContentTokenCount"), v.Count("thoughtsTokenCount")
	d.usage = wire.Usage{
		Reported: true, Input: max(v.Count("promptTokenCount")+v.Count("toolUsePromptTokenCount")-read, 0), CacheRead: read,
		Output: v.Count("candidatesTokenCount") + thought, Reasoning: thought,
	}
}

var errNoCandidate = errors.New("gemini: the response has no candidate")

// take adds a GenerateContentResponse: the whole response, or the next piece of a stream. It does not
// keep data.
func (d *draft) take(data []byte) error {
	if d.sent != nil {
		return nil
	}
	v, err := frame.Parse(data)
	if err != nil {
		return fmt.Errorf("the response is %w", err)
	}
	var got [4]frame.Value
	if err := v.Pick(got[:], "candidates", "promptFeedback", "error", "usageMetadata"); err != nil {
		return err
	}
	if !got[2].Null() {
		d.sent = providerError(got[2])
		return nil
	}
	d.count(got[3])
	if d.model == "" {
		d.model = v.TextOf("modelVersion")
	}
	if !got[1].Null() {
		var feedback [1]frame.Value
		if err := got[1].Pick(feedback[:], "blockReason"); err != nil {
			return fmt.Errorf("promptFeedback: %w", err)
		}
		d.blocked = feedback[0].Loose()
		d.begun = d.begun || d.blocked != ""
	}
	if !got[0].Null() && got[0].Kind() != '[' {
		return errors.New("candidates is no array")
	}
	seen := false
	for candidate := range got[0].Elements() {
		var c [3]frame.Value
		if err := candidate.Pick(c[:], "index", "content", "finishReason"); err != nil {
			return fmt.Errorf("candidates: %w", err)
		}
		if i, _ := c[0].Int(); i != 0 || seen {
			d.others = max(d.others, i, 1)
			continue
		}
		seen, d.begun = true, true
		before := d.calls
		if !c[1].Null() {
			if err := d.content(c[1]); err != nil {
				return fmt.Errorf("content: %w", err)
			}
		}
		// A call after the finishReason shows that the response had not ended.
		if !c[2].Null() || d.calls != before {
			d.reason = c[2].Loose()
		}
	}
	return nil
}

// content adds the parts of a content.
func (d *draft) content(v frame.Value) error {
	var got [1]frame.Value
	if err := v.Pick(got[:], "parts"); err != nil {
		return err
	}
	if !got[0].Null() && got[0].Kind() != '[' {
		return errors.New("parts is no array")
	}
	for v := range got[0].Elements() {
		if err := d.part(v); err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) part(v frame.Value) error {
	p, err := readPart(v)
	if err != nil {
		return err
	}
	if !p.thought && !p.call && !p.passed {
		d.unread.Add(p.text)
	}
	var last *part
	if len(d.parts) > 0 {
		last = &d.parts[len(d.parts)-1]
	}
	switch {
	case p.raw == nil && last != nil && last.raw == nil && last.thought == p.thought:
		last.text = append(last.text, p.text...)
		return nil
	case p.raw == nil && len(p.text) == 0:
		return nil // an empty text, which a request must not contain
	case p.raw == nil:
		p.text = bytes.Clone(p.text)
	default:
		p.raw, p.text = bytes.Clone(p.raw), bytes.Clone(p.text)
	}
	if last != nil && last.call && last.isMore(v) {
		last.open = p.open
		return nil
	}
	if p.call {
		if d.calls == wire.MaxCalls {
			return wire.ErrTooLarge
		}
		d.calls++
	}
	d.parts = append(d.parts, p)
	return nil
}

// response returns the response with all parts of the draft. A call that must not run because of the
// way in which the response ended has a Fault: see fault.
func (d *draft) response(cut bool) wire.Response {
	r := wire.Response{Native: d.reason, Others: d.others, Usage: d.usage, Model: d.model}
	if r.Native == "" {
		r.Native = d.blocked
	}
	cut = cut || r.Native == ""
	message := []byte(`{"role":"model","parts":[`)
	start := len(message)
	var text []byte
	for i, p := range d.parts {
		switch {
		case p.call:
			c := p.wire(len(r.Calls))
			if fault := d.fault(cut, i == len(d.parts)-1); fault != "" {
				c.Fault = fault
			}
			r.Calls = append(r.Calls, c)
		case p.passed:
			r.Passed = append(r.Passed, json.RawMessage(p.raw))
		case !p.thought:
			text = append(text, p.text...)
		}
		if len(message) > start {
			message = append(message, ',')
		}
		message = p.appendTo(message)
	}
	r.Text = frame.Loose(text)
	r.Finish = finishOf(d.reason, cut, len(r.Calls) > 0, d.blocked != "")
	message = append(message, `]}`...)
	r.Message = message
	return r
}

// fault returns the Fault that a call has because of the way in which the response ended. All calls have
// a Fault if the response was cut, if a filter stopped it, or if the provider says that its calls are
// invalid. If a limit stopped the model, only a call in the last part (last) has a Fault.
func (d *draft) fault(cut, last bool) toolspec.Code {
	switch {
	case cut || isFilter(d.reason) || d.blocked != "":
		return toolspec.CodeIncomplete
	case d.reason == "MALFORMED_FUNCTION_CALL" || d.reason == "UNEXPECTED_TOOL_CALL":
		return toolspec.CodeInvalidJSON
	case (d.reason == "MAX_TOKENS" || d.reason == "CONTINUATION") && last:
		return toolspec.CodeIncomplete
	default:
		return ""
	}
}

func isFilter(reason string) bool {
	switch reason {
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return true
	default:
		return false
	}
}

func finishOf(reason string, cut, calls, blocked bool) wire.Finish {
	switch {
	case cut:
		return wire.FinishCut
	case calls:
		return wire.FinishCalls
	case reason == "STOP":
		return wire.FinishStop
	case reason == "MAX_TOKENS":
		return wire.FinishLength
	case isFilter(reason) || reason == "" && blocked:
		return wire.FinishRefused
	default: // for example MALFORMED_FUNCTION_CALL, if the provider did not send the call
		return wire.FinishOther
	}
}
