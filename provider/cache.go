package provider

import (
	"bytes"
	"encoding/json"
)

var (
	ephemeral = json.RawMessage(`{"type":"ephemeral"}`)
	mark      = []byte(`"cache_control":`)
)

// markCached marks the places up to which the provider may keep the request in its cache, in the format anthropic:
// the system, which comes after the tools; the last message; and the user's message before it, with which the
// previous request ended. The provider looks only 20 blocks back from a mark, and one round can have more. The other
// formats cache without a mark. A text without the expected form gets no mark. A request in which the caller has set
// marks stays as it is, because the provider takes 4 marks at most.
func (r Request) markCached() (messages []json.RawMessage, system json.RawMessage) {
	marked := r.Members["cache_control"] != nil || bytes.Contains(r.System, mark) || bytes.Contains(r.Tools, mark)
	for _, m := range r.Messages {
		marked = marked || bytes.Contains(m, mark)
	}
	if marked || len(r.Messages) == 0 {
		return r.Messages, r.System
	}
	messages = append([]json.RawMessage(nil), r.Messages...)
	last := len(messages) - 1
	messages[last] = markMessage(messages[last], "")
	for i := last - 1; i >= 0; i-- {
		if before := markMessage(messages[i], "user"); !bytes.Equal(before, messages[i]) {
			messages[i] = before
			break
		}
	}
	return messages, markLast(r.System)
}

// markMessage marks the content of a message. A message of another role stays as it is, unless role is empty.
func markMessage(raw json.RawMessage, role string) json.RawMessage {
	var message map[string]json.RawMessage
	if json.Unmarshal(raw, &message) != nil || message == nil || role != "" && string(message["role"]) != `"`+role+`"` {
		return raw
	}
	message["content"] = markLast(message["content"])
	marked, err := json.Marshal(message)
	if err != nil || !bytes.Contains(marked, mark) {
		return raw
	}
	return marked
}

// markLast marks the last block of a content, which is a text or a list of blocks.
func markLast(content json.RawMessage) json.RawMessage {
	var text string
	var blocks []json.RawMessage
	if json.Unmarshal(content, &text) == nil && text != "" {
		block, err := json.Marshal(map[string]string{"type": "text", "text": text})
		if err != nil {
			return content
		}
		blocks = []json.RawMessage{block}
	} else if json.Unmarshal(content, &blocks) != nil || len(blocks) == 0 {
		return content
	}
	last := &blocks[len(blocks)-1]
	var block map[string]json.RawMessage
	if json.Unmarshal(*last, &block) != nil {
		return content
	}
	switch string(block["type"]) {
	case `"text"`, `"image"`, `"document"`, `"tool_result"`: // the provider refuses a mark at others, such as thinking
	default:
		return content
	}
	if string(block["text"]) == `""` { // the provider refuses a mark at an empty text too
		return content
	}
	block["cache_control"] = ephemeral
	var err error
	if *last, err = json.Marshal(block); err != nil {
		return content
	}
	marked, err := json.Marshal(blocks)
	if err != nil {
		return content
	}
	return marked
}
