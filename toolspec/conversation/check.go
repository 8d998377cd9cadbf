package conversation

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// Check reports every problem that a provider or a later request would have with the conversation.
// A role may have only its types of parts, every value must be JSON within its bounds, and every
// call must have exactly one result, in the tool messages that directly follow it. An error is an
// *Error.
func (c Conversation) Check() error {
	var found problems
	switch n := len(c.Messages); {
	case n == 0:
		found.add("/messages", KindMissing, "a conversation has messages")
	case n > MaxMessages:
		found.add("/messages", KindTooLarge, "more than %d messages", MaxMessages)
		return found.err()
	}
	for i, m := range c.Messages {
		found.message(i, m)
	}
	found.pairs(c.Messages)
	return found.err()
}

// message checks one message without its context.
func (p *problems) message(i int, m Message) {
	path := fmt.Sprintf(pathOfMessage, i)
	may, known := said[m.Role]
	if !known {
		p.add(path+"/role", KindRole, "a role is system, user, assistant or tool")
		return
	}
	calls, results, text := 0, 0, false
	for j, part := range m.Content {
		at := fmt.Sprintf(pathOfMessagePart, i, j)
		switch part.Type {
		case ToolCall:
			calls++
		case ToolResult:
			results++
		case Text:
			text = text || part.Text != ""
		default:
			p.add(at+"/type", KindInvalidField, "a part is a text, a tool-call or a tool-result")
			continue
		}
		if !slices.Contains(may, part.Type) {
			p.add(at, KindWrongPart, "a message of role %s holds no %s", m.Role, part.Type)
			continue
		}
		p.value(at, part)
	}
	switch {
	case m.Role == Tool && (results != 1 || len(m.Content) != 1):
		p.add(path+"/content", KindResultCount, "a tool message holds exactly one tool-result; this one has %d", results)
	case m.Role != Tool && calls == 0 && !text:
		p.add(path+"/content", KindMissing, "a message says something")
	case calls > wire.MaxCalls:
		p.add(path+"/content", KindTooManyCalls, "more than %d calls", wire.MaxCalls)
	}
}

// said holds the types of parts that each role may have.
var said = map[Role][]PartType{
	System: {Text}, User: {Text}, Assistant: {Text, ToolCall}, Tool: {ToolResult},
}

// value checks the fields of a part.
func (p *problems) value(at string, part Part) {
	if part.Type == Text {
		return
	}
	if err := toolspec.CheckToolCallID(part.ToolCallID); err != nil {
		p.add(at+"/toolCallId", KindInvalidField, "%s", err)
	}
	if part.Type == ToolCall || part.ToolName != "" {
		if err := toolspec.CheckIdentity(part.ToolName); err != nil {
			p.add(at+"/toolName", KindInvalidField, "a tool's name is 1–200 bytes of printable text")
		}
	}
	switch {
	case part.Type == ToolCall && len(part.Args) > 0:
		if p.checkJSON(at+"/args", part.Args, MaxArgs) && part.Args[0] != '{' && part.Args[0] != '"' {
			p.add(at+"/args", string(jsonschema.KindTypeMismatch), "arguments are an object, or a string that holds what stood for one")
		}
	case part.Type == ToolResult && len(part.Result) == 0:
		p.add(at+"/result", KindMissing, "a tool-result has a result")
	case part.Type == ToolResult:
		p.checkJSON(at+"/result", part.Result, MaxResult)
	}
}

// checkJSON reports whether a value is JSON of at most limit bytes, and adds a problem if it is not.
func (p *problems) checkJSON(at string, raw json.RawMessage, limit int) bool {
	if len(raw) > limit {
		p.add(at, KindTooLarge, "the value is larger than %d bytes", limit)
		return false
	}
	if fault := strictjson.Check(raw); fault != nil {
		p.unread(at, fault)
		return false
	}
	return true
}

// pairs checks that every call has one result. The results of a message's calls must follow it
// before a message of another role, because providers refuse other orders.
func (p *problems) pairs(messages []Message) {
	type call struct {
		path, tool     string
		answered, late bool
	}
	seen := map[string]*call{}
	var waiting []*call // calls of the last message with calls
	unanswered := func() {
		for _, c := range waiting {
			if c.late = !c.answered; c.late {
				p.add(c.path, KindUnanswered, "the call has no result in the tool messages that follow it")
			}
		}
		waiting = nil
	}
	for i, m := range messages {
		if m.Role != Tool {
			unanswered()
		}
		for j, part := range m.Content {
			at := fmt.Sprintf(pathOfMessagePart, i, j)
			of := seen[part.ToolCallID]
			switch {
			case part.Type == ToolCall && m.Role == Assistant && of != nil:
				p.add(at+"/toolCallId", KindSecondCall, "another call has this id")
			case part.Type == ToolCall && m.Role == Assistant:
				of = &call{path: at, tool: part.ToolName}
				seen[part.ToolCallID], waiting = of, append(waiting, of)
			case part.Type != ToolResult || m.Role != Tool:
			case of == nil || of.late:
				p.add(at+"/toolCallId", KindOrphan, "no call right before has this id")
			case of.answered:
				p.add(at+"/toolCallId", KindSecondResult, "the call has a result already")
			case part.ToolName != "" && part.ToolName != of.tool:
				p.add(at+"/toolName", KindOtherTool, "the call with this id is of another tool")
				fallthrough
			default:
				of.answered = true
			}
		}
	}
	unanswered()
}
