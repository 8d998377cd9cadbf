package conversation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// Request is a conversation in a format's words.
type Request struct {
	// Messages stand where the format keeps what was said: `messages`, `input` or
	// `contents`.
	Messages []json.RawMessage
	// System is what the system said, where the format keeps that beside the messages,
	// in the member SystemMember; else both are empty.
	SystemMember string
	System       json.RawMessage
}

// Encode writes a conversation in the format of a codec: the assistant's messages
// with their calls, and behind each the results, as the codec writes them. name says
// by which name the model knows a tool; nil is wire.SentName. The conversation is
// checked first.
func Encode(c Conversation, codec wire.Codec, name func(tool string) string) (Request, error) {
	if err := c.Check(); err != nil {
		return Request{}, err
	}
	w, ok := writers[codec.Format()]
	if !ok {
		return Request{}, fmt.Errorf("conversation: nobody knows how the format %s writes messages", codec.Format())
	}
	if name == nil {
		name = wire.SentName
	}
	var r Request
	var system []string
	var answers []wire.Answer
	called := map[string]wire.Answer{} // by id, what its answer begins with
	flush := func() error {
		if len(answers) == 0 {
			return nil
		}
		// In the order of the calls: some formats know them by nothing else.
		slices.SortFunc(answers, func(a, b wire.Answer) int { return a.Index - b.Index })
		messages, err := codec.Answers(answers)
		r.Messages, answers = append(r.Messages, messages...), nil
		return err
	}
	for _, m := range c.Messages {
		if m.Role == Tool {
			part := m.Content[0]
			answer := called[part.ToolCallID]
			answer.Content, answer.IsError, answer.OutputRef = part.Result, part.IsError, part.OutputRef
			answers = append(answers, answer)
			continue
		}
		if err := flush(); err != nil {
			return Request{}, err
		}
		if m.Role == System && w.systemMember != "" {
			system = append(system, texts(m)...)
			continue
		}
		message := spoken{role: m.Role, texts: texts(m)}
		for _, part := range m.Content {
			if part.Type == ToolCall {
				c := call{id: w.id(part.ToolCallID), name: name(part.ToolName), args: part.Args}
				called[part.ToolCallID] = wire.Answer{Index: len(message.calls), CallID: c.id, Name: c.name}
				message.calls = append(message.calls, c)
			}
		}
		messages, err := encoded(w.write(message))
		if err != nil {
			return Request{}, err
		}
		r.Messages = append(r.Messages, messages...)
	}
	if err := flush(); err != nil {
		return Request{}, err
	}
	if len(system) > 0 {
		var err error
		r.SystemMember = w.systemMember
		if r.System, err = encode(w.system(system)); err != nil {
			return Request{}, err
		}
	}
	return r, nil
}

// spoken is a message of anybody but a tool: what it says, then what it calls.
type spoken struct {
	role  Role
	texts []string
	calls []call
}

// call is one that was made, in the names of the request.
type call struct {
	id, name string
	args     json.RawMessage
}

// writer is how a format writes messages.
type writer struct {
	// write gives the messages, or items, of one.
	write func(spoken) []any
	// id is how the format writes an id.
	id func(string) string
	// system is the member beside the messages, if there is one.
	systemMember string
	system       func(texts []string) any
}

// texts are what a message says that is not empty: providers refuse empty ones.
func texts(m Message) (said []string) {
	for _, part := range m.Content {
		if part.Type == Text && part.Text != "" {
			said = append(said, part.Text)
		}
	}
	return said
}

// text is args as a format has them that wants a string.
func (c call) text() string {
	var s string
	switch {
	case len(c.args) == 0:
		return "{}"
	case c.args[0] == '"' && json.Unmarshal(c.args, &s) == nil:
		return s
	}
	return string(c.args)
}

// object is args as a format has them that wants an object. What a model wrote
// instead of one cannot stand there, and its result says that it was wrong.
func (c call) object() json.RawMessage {
	text := bytes.TrimSpace([]byte(c.text()))
	if len(text) == 0 || text[0] != '{' || !json.Valid(text) {
		return json.RawMessage(`{}`)
	}
	return text
}

func encoded(values []any) (messages []json.RawMessage, err error) {
	for _, v := range values {
		message, err := encode(v)
		if err != nil {
			return nil, err
		}
		messages = append(messages, message)
	}
	return messages, nil
}

// encode leaves <, > and & as they are: models read this.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("conversation: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
