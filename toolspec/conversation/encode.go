package conversation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/toolspec/strictjson"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// Request is a conversation in the format of a provider.
type Request struct {
	// Messages are the elements of the format's list of messages: `messages`, `input` or
	// `contents`.
	Messages []json.RawMessage
	// System is the text of the system messages and SystemMember the name of its member, if the
	// format keeps it apart from the messages. Otherwise both are empty.
	SystemMember string
	System       json.RawMessage
}

// Encode checks a conversation and encodes it in the format of a codec. A message of the assistant
// has its calls, and the results follow the message. name returns the name by which the model knows
// a tool; nil means wire.SentName.
func Encode(c Conversation, codec wire.Codec, name func(tool string) string) (Request, error) {
	if err := c.Check(); err != nil {
		return Request{}, err
	}
	w, err := writerOf(codec)
	if err != nil {
		return Request{}, err
	}
	if name == nil {
		name = wire.SentName
	}
	var r Request
	var system []string
	var answers []wire.Answer
	called := map[string]wire.Answer{} // by the id of the call: its answer, still without content
	flush := func() error {
		if len(answers) == 0 {
			return nil
		}
		// Answers are in the order of the calls, because some formats match answers to calls by order
		// only.
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
		message := w.spoken(m, name)
		for i, c := range message.calls {
			called[c.of] = wire.Answer{Index: i, CallID: c.id, Name: c.name}
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
		if r.System, err = strictjson.Encode(w.system(system)); err != nil {
			return Request{}, err
		}
	}
	return r, nil
}

// EncodeAnswered encodes a message of the assistant and the answers to its calls, one for each call and in their order. It sets the Index, the
// CallID and the Name of the answers. It does not check the message, and an answer may be larger than MaxResult and have parts.
func EncodeAnswered(m Message, answers []wire.Answer, codec wire.Codec, name func(tool string) string) ([]json.RawMessage, error) {
	w, err := writerOf(codec)
	if err != nil {
		return nil, err
	}
	message := w.spoken(m, name)
	messages, err := encoded(w.write(message))
	if err != nil || len(message.calls) == 0 {
		return messages, err
	}
	answers = slices.Clone(answers)
	for i, c := range message.calls {
		answers[i].Index, answers[i].CallID, answers[i].Name = i, c.id, c.name
	}
	answered, err := codec.Answers(answers)
	return append(messages, answered...), err
}

func writerOf(codec wire.Codec) (writer, error) {
	w, ok := writers[codec.Format()]
	if !ok {
		return w, fmt.Errorf("conversation: nobody knows how the format %s writes messages", codec.Format())
	}
	return w, nil
}

// spoken returns a message that is not a tool message, with the ids and the names of the format.
func (w writer) spoken(m Message, name func(tool string) string) spoken {
	message := spoken{role: m.Role, texts: texts(m)}
	for _, part := range m.Content {
		if part.Type == ToolCall {
			message.calls = append(message.calls, call{of: part.ToolCallID, id: w.id(part.ToolCallID), name: name(part.ToolName), args: part.Args})
		}
	}
	return message
}

// spoken is a message that is not a tool message: texts, then calls.
type spoken struct {
	role  Role
	texts []string
	calls []call
}

// call is a call with the id and the name that the request uses. of is its id in the conversation.
type call struct {
	of, id, name string
	args         json.RawMessage
}

// writer encodes messages in one format.
type writer struct {
	// write returns the messages, or items, of a message.
	write func(spoken) []any
	// id converts an id of a call.
	id func(string) string
	// systemMember is the member for system texts beside the messages, if the format has one.
	systemMember string
	system       func(texts []string) any
}

// texts returns the texts of a message that are not empty, because providers refuse empty texts.
func texts(m Message) (said []string) {
	for _, part := range m.Content {
		if part.Type == Text && part.Text != "" {
			said = append(said, part.Text)
		}
	}
	return said
}

// text returns the arguments for a format that needs a string.
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

// object returns the arguments for a format that needs an object. Text of a model that is not an
// object becomes {}; the result of the call says that the arguments were wrong.
func (c call) object() json.RawMessage {
	text := bytes.TrimSpace([]byte(c.text()))
	if len(text) == 0 || text[0] != '{' || !json.Valid(text) {
		return json.RawMessage(`{}`)
	}
	return text
}

func encoded(values []any) (messages []json.RawMessage, err error) {
	for _, v := range values {
		message, err := strictjson.Encode(v)
		if err != nil {
			return nil, err
		}
		messages = append(messages, message)
	}
	return messages, nil
}
