package conversation

import "encoding/json"

// Role is the sender of a message.
type Role string

// The roles.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// PartType is the type of a part of a message.
type PartType string

// The types of parts.
const (
	Text       PartType = "text"
	ToolCall   PartType = "tool-call"
	ToolResult PartType = "tool-result"
)

// Bounds of a conversation, in bytes unless said otherwise.
const (
	// MaxConversation bounds the JSON of a conversation, in bytes.
	MaxConversation = 16 << 20
	// MaxMessages bounds the messages of a conversation.
	MaxMessages = 4096
	// MaxArgs bounds the arguments of a call in a message. A call on its way to a
	// tool may have more: see toolspec.MaxInline.
	MaxArgs = 8 << 10
	// MaxResult bounds the result in a message, in bytes.
	MaxResult = 32 << 10
)

// Conversation is a list of messages, from the first one.
type Conversation struct {
	Messages []Message `json:"messages"`
}

// Message is one message. System and user messages have text, assistant messages text and calls,
// and a tool message has exactly one result.
type Message struct {
	Role Role `json:"role"`
	// Content is written as an array. A string is read as one text part.
	Content []Part `json:"content"`
}

// Part is a part of a message. Type says which of the other fields it has.
type Part struct {
	Type PartType `json:"type"`
	// Text is the text of a text part.
	Text string `json:"text,omitempty"`
	// ToolCallID connects a call and its result: 1–128 printable characters, unique in a
	// conversation.
	ToolCallID string `json:"toolCallId,omitempty"`
	// ToolName is the id of the tool, or the name that the model called if there is no tool.
	ToolName string `json:"toolName,omitempty"`
	// Args are the arguments of a call: an object, or a string with the text that the model sent
	// instead. Absent means {}.
	Args json.RawMessage `json:"args,omitempty"`
	// Result is any JSON.
	Result json.RawMessage `json:"result,omitempty"`
	// IsError reports that the result is about a failure.
	IsError bool `json:"isError,omitempty"`
	// OutputRef names the whole value if the result is only a part of it.
	OutputRef string `json:"outputRef,omitempty"`
}
