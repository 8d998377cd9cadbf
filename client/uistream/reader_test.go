package uistream_test

import (
	"fmt"

	"github.com/pawl-run/pawl/client/uistream"
)

// reader checks what the readers of the stream want. It keeps the calls over messages, as the run does.
type reader struct {
	seq     func() int64
	calls   map[string]string // state by id: open, input or closed
	text    string
	started bool
	over    bool
	fault   string
}

func newReader(seq func() int64) *reader { return &reader{seq: seq, calls: map[string]string{}} }

func (r *reader) read(parts []uistream.Part, finished bool) {
	for n, p := range parts {
		if fault := r.part(p); fault != "" && r.fault == "" {
			r.fault = fmt.Sprintf("event %d: %s %+v", r.seq(), fault, p)
		}
		last := p.Type == "finish" || p.Type == "abort" || p.Type == "error"
		if last != (finished && n == len(parts)-1) && r.fault == "" {
			r.fault = "the end of the message is not the last part"
		}
	}
	if finished && len(parts) == 0 {
		r.fault = "a message ended without a part"
	}
}

func (r *reader) part(p uistream.Part) string {
	switch {
	case r.over:
		return "a part after the end"
	case p.Type == "start" && r.started, p.Type != "start" && !r.started:
		return "no single start"
	}
	state, known := r.calls[p.ToolCallID]
	switch p.Type {
	case "start":
		r.started = true
	case "text-start":
		if r.text != "" {
			return "text is open"
		}
		r.text = p.ID
	case "text-delta", "text-end":
		if r.text == "" || r.text != p.ID {
			return "text is not open"
		}
		if p.Type == "text-end" {
			r.text = ""
		}
	case "tool-input-start":
		if known || r.text != "" || p.ToolName == "" || !p.Dynamic {
			return "opened twice, in a text, or without a name"
		}
		r.calls[p.ToolCallID] = "open"
	case "tool-input-available":
		if !known || state == "closed" || p.Input == nil || !p.Dynamic || p.ToolName == "" {
			return "not open"
		}
		r.calls[p.ToolCallID] = "input"
	case "tool-input-error":
		if state != "open" || p.ErrorText == "" {
			return "an error of an input that is there"
		}
		r.calls[p.ToolCallID] = "closed"
	case "tool-approval-request":
		if state != "input" || p.ApprovalID == "" {
			return "asked without an input"
		}
	case "tool-output-available", "tool-output-error", "tool-output-denied":
		if state != "input" || p.Type == "tool-output-available" && p.Output == nil || p.Type == "tool-output-error" && p.ErrorText == "" {
			return "a result of a call that is not open"
		}
		if !p.Preliminary {
			r.calls[p.ToolCallID] = "closed"
		}
	case "data-approval", "data-result":
		if p.ID == "" || p.Data == nil {
			return "no id"
		}
	case "finish":
		if fault := r.closed(); fault != "" {
			return fault
		}
		r.started = false
	case "abort", "error":
		r.over = true
		return r.closed()
	default:
		return "unknown"
	}
	return ""
}

func (r *reader) closed() string {
	if r.text != "" {
		return "the text is not closed"
	}
	for id, state := range r.calls {
		if state != "closed" {
			return "not closed: " + id
		}
	}
	return ""
}

func (r *reader) end() string {
	if r.fault == "" {
		r.fault = r.closed()
	}
	return r.fault
}
