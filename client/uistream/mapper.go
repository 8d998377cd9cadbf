package uistream

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/pawl-run/pawl/toolspec"
)

// unknownInput is the input of a call whose arguments no event has named yet.
var unknownInput = json.RawMessage("{}")

// Mapper turns the events of a run, in their order, into the parts of messages. The parts depend on
// nothing but the events, so a reader that connects again gets the same parts.
//
// A message begins with the first event after the previous message, and ends with the event after
// which the model's turn is done and no call of the run is open. A Mapper holds some bytes for each
// call of the run, and no values.
type Mapper struct {
	runID string
	// seq is the number of the last event. previousEnd is the number of the event that ended the previous message,
	// or 0.
	seq, previousEnd int64
	started          bool
	// done says that the model's turn has ended, and ended says that the stream has ended.
	done, ended bool
	// text is the id of the open part of text.
	text  string
	calls map[string]*call
	// open are the calls without a result, in the order in which they were opened.
	open []*call
}

// call is a call whose part the stream has opened.
type call struct {
	id, toolName string
	// input are the masked arguments, while the call is open.
	input json.RawMessage
	// approval is the last approval request, while the call is open.
	approval toolspec.RunApproval
	// available says that the stream has the input of the call, and closed that it has the result.
	available, closed bool
}

// NewMapper returns the mapper of a run. Its caller must pass all events of the run to Map, from the first on.
func NewMapper(runID string) *Mapper { return &Mapper{runID: runID, calls: map[string]*call{}} }

// Seq returns the sequence number of the last event, 0 before the first event.
func (m *Mapper) Seq() int64 { return m.seq }

// Start returns the part that begins a message, and nothing if the message has begun. Write it before the parts of
// the first event of the message.
func (m *Mapper) Start() []Part {
	if m.started || m.ended {
		return nil
	}
	m.started = true
	id := m.runID
	if m.previousEnd > 0 {
		id += "/" + strconv.FormatInt(m.previousEnd, 10)
	}
	return []Part{{Type: typeStart, MessageID: id}}
}

// Map returns the parts of an event, and whether the message ends with them. The part of Start is not among them.
// An event that was mapped before, or that comes after the result of its call, has no parts.
func (m *Mapper) Map(e toolspec.RunEvent) (parts []Part, finished bool) {
	if m.ended || e.Seq <= m.seq {
		return nil, false
	}
	m.seq = e.Seq
	switch e.Kind {
	case toolspec.RunCallStart, toolspec.RunApprovalRequested, toolspec.RunApprovalDecided, toolspec.RunCallProgress, toolspec.RunCallResult:
		parts = m.mapCall(e)
	case toolspec.RunTextDelta:
		parts = m.mapText(e)
	case toolspec.RunDone:
		m.done = true
		parts = m.closeText()
	}
	m.started = m.started || len(parts) > 0
	if m.done && len(m.open) == 0 {
		parts = append(parts, m.closeText()...)
		parts = append(parts, Part{Type: typeFinish, FinishReason: "stop"})
		m.started, m.done, m.previousEnd, finished = false, false, e.Seq, true
	}
	return parts, finished
}

func (m *Mapper) mapText(e toolspec.RunEvent) (parts []Part) {
	if e.Text == "" {
		return nil
	}
	if m.text == "" {
		m.text = "text-" + strconv.FormatInt(e.Seq, 10)
		parts = append(parts, Part{Type: typeTextStart, ID: m.text})
	}
	return append(parts, Part{Type: typeTextDelta, ID: m.text, Delta: e.Text})
}

func (m *Mapper) closeText() []Part {
	if m.text == "" {
		return nil
	}
	end := Part{Type: typeTextEnd, ID: m.text}
	m.text = ""
	return []Part{end}
}

// mapCall maps an event of a call. Any event opens the part of its call: for readers no part of a call
// comes before its start.
func (m *Mapper) mapCall(e toolspec.RunEvent) (parts []Part) {
	c, parts := m.openCall(e)
	if c == nil || c.closed {
		return nil
	}
	if e.Args != nil {
		c.input = e.Args
	}
	switch {
	case e.Kind == toolspec.RunCallStart && e.Args != nil:
		// If the call has waited for an approver, this part also says that the call no longer waits.
		parts = append(parts, c.inputAvailable())
	case e.Kind == toolspec.RunApprovalRequested && e.Approval != nil:
		parts = append(parts, c.request(*e.Approval)...)
	case e.Kind == toolspec.RunApprovalDecided && e.Approval != nil:
		parts = append(parts, c.decide(*e.Approval)...)
	case e.Kind == toolspec.RunCallProgress && e.Progress != nil:
		parts = append(parts, c.ensureInput()...)
		parts = append(parts, Part{Type: typeOutputAvailable, ToolCallID: c.id, Output: encode(e.Progress), Preliminary: true})
	case e.Kind == toolspec.RunCallResult:
		parts = append(parts, c.settle(e.Result)...)
		m.removeOpen(c)
	}
	return parts
}

// openCall returns the call of an event, and the parts that open it. It returns nil for an event that
// names no call.
func (m *Mapper) openCall(e toolspec.RunEvent) (*call, []Part) {
	id := e.ToolCallID
	if id == "" {
		id = e.InvocationID
	}
	if id == "" {
		return nil, nil
	}
	if c := m.calls[id]; c != nil {
		return c, nil
	}
	c := &call{id: id, toolName: e.ToolID}
	if c.toolName == "" {
		c.toolName = "unknown" // readers refuse a call without a name
	}
	m.calls[id] = c
	m.open = append(m.open, c)
	return c, append(m.closeText(), Part{Type: typeInputStart, ToolCallID: id, ToolName: c.toolName, Dynamic: true})
}

func (m *Mapper) removeOpen(c *call) {
	c.closed, c.input, c.approval = true, nil, toolspec.RunApproval{}
	m.open = slices.DeleteFunc(m.open, func(other *call) bool { return other == c })
}

// Abort ends the stream while the run goes on: it closes all that is open.
func (m *Mapper) Abort() []Part { return m.end(Part{Type: typeAbort}) }

// Fail ends the stream because of an error whose text is safe to show: it closes all that is open.
func (m *Mapper) Fail(text string) []Part { return m.end(Part{Type: typeError, ErrorText: text}) }

// cutText is what readers show of a call whose result is not in the stream.
const cutText = "The stream ended before this call. Its result follows when you connect again."

func (m *Mapper) end(last Part) (parts []Part) {
	if m.ended {
		return nil
	}
	parts = append(m.Start(), m.closeText()...)
	for _, c := range m.open {
		parts = append(parts, c.fail(cutText))
	}
	m.ended, m.open = true, nil
	return append(parts, last)
}

// encode returns v, a struct of this module, as JSON.
func encode(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}
