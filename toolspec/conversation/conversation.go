package conversation

import "encoding/json"

// Role is who speaks.
type Role string

// The roles.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// PartType is what a part of a message is.
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

// Conversation is a talk, from its beginning.
type Conversation struct {
	Messages []Message `json:"messages"`
}

// Message is what one of them said at once. System and user say text, the
// assistant text and calls, and a tool exactly one result.
type Message struct {
	Role Role `json:"role"`
	// Content is written as an array; a text alone is read as one part.
	Content []Part `json:"content"`
}

// Part is a piece of a message: Type says which of the other fields it has.
type Part struct {
	Type PartType `json:"type"`
	// Text is that of a text.
	Text string `json:"text,omitempty"`
	// ToolCallID joins a call with its result: 1–128 printable characters, once in a
	// conversation.
	ToolCallID string `json:"toolCallId,omitempty"`
	// ToolName is the tool's id, or what the model called where there is none.
	ToolName string `json:"toolName,omitempty"`
	// Args are those of a call: an object, or a string that holds what the model
	// wrote in place of one. Absent means {}.
	Args json.RawMessage `json:"args,omitempty"`
	// Result is any JSON.
	Result json.RawMessage `json:"result,omitempty"`
	// IsError says that the result tells of a failure.
	IsError bool `json:"isError,omitempty"`
	// OutputRef names the whole value where the result is only a part of it.
	OutputRef string `json:"outputRef,omitempty"`
}
