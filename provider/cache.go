package provider

import "encoding/json"

var ephemeral = json.RawMessage(`{"type":"ephemeral"}`)

// markCached marks the places up to which the provider may keep the request in its cache, in the format
// anthropic: the system, before which the tools stand, and the last message. The other formats cache without a
// mark. What does not have the expected form stays as it is.
func markCached(messages []json.RawMessage, system json.RawMessage) ([]json.RawMessage, json.RawMessage) {
	system = markLast(system)
	if len(messages) == 0 {
		return messages, system
	}
	last := len(messages) - 1
	var message map[string]json.RawMessage
	if json.Unmarshal(messages[last], &message) != nil || message == nil {
		return messages, system
	}
	message["content"] = markLast(message["content"])
	marked, err := json.Marshal(message)
	if err != nil {
		return messages, system
	}
	return append(messages[:last:last], marked), system
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
