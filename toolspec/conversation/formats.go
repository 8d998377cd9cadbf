package conversation

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// writers holds the formats by the names of their codecs.
var writers = map[string]writer{
	"openai":    {write: openai, id: same},
	"responses": {write: responses, id: same},
	"anthropic": {write: anthropic, id: plain, systemMember: "system", system: func(texts []string) any { return textBlocks(texts) }},
	"ollama":    {write: ollama, id: same},
	"gemini":    {write: gemini, id: same, systemMember: "systemInstruction", system: func(texts []string) any { return object{"parts": textParts(texts)} }},
}

// object is a small JSON object. Its members are written in order of their names.
type object = map[string]any

func same(id string) string { return id }

// plain converts an id for Anthropic, which accepts letters, digits, _ and -. It replaces another
// id by a hash, the same for the call and its result.
func plain(id string) string {
	if strings.IndexFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}) < 0 {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:26]
}

// openai writes a message of Chat Completions.
func openai(m spoken) []any {
	message := object{"role": string(m.role)}
	switch len(m.texts) {
	case 0: // only calls
		message["content"] = nil
	case 1:
		message["content"] = m.texts[0]
	default:
		message["content"] = textBlocks(m.texts)
	}
	var calls []any
	for _, c := range m.calls {
		calls = append(calls, object{"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": c.text()}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	return []any{message}
}

// responses returns the items of the Responses API: each call is an item.
func responses(m spoken) (items []any) {
	for _, text := range m.texts {
		items = append(items, object{"type": "message", "role": string(m.role), "content": text})
	}
	for _, c := range m.calls {
		items = append(items, object{"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.text()})
	}
	return items
}

// anthropic returns a message with blocks.
func anthropic(m spoken) []any {
	blocks := textBlocks(m.texts)
	for _, c := range m.calls {
		blocks = append(blocks, object{"type": "tool_use", "id": c.id, "name": c.name, "input": c.object()})
	}
	return []any{object{"role": string(m.role), "content": blocks}}
}

func textBlocks(texts []string) (blocks []any) {
	for _, text := range texts {
		blocks = append(blocks, object{"type": "text", "text": text})
	}
	return blocks
}

// ollama returns a message of Ollama's chat.
func ollama(m spoken) []any {
	message := object{"role": string(m.role), "content": strings.Join(m.texts, "\n\n")}
	var calls []any
	for i, c := range m.calls {
		calls = append(calls, object{"id": c.id, "function": object{"index": i, "name": c.name, "arguments": c.object()}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	return []any{message}
}

// gemini returns a content. The assistant has the role model.
func gemini(m spoken) []any {
	parts := textParts(m.texts)
	for _, c := range m.calls {
		function := object{"id": c.id, "name": c.name}
		if args := c.object(); string(args) != "{}" {
			function["args"] = args
		}
		parts = append(parts, object{"functionCall": function})
	}
	role := string(m.role)
	if m.role == Assistant {
		role = "model"
	}
	return []any{object{"role": role, "parts": parts}}
}

func textParts(texts []string) (parts []any) {
	for _, text := range texts {
		parts = append(parts, object{"text": text})
	}
	return parts
}
