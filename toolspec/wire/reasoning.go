package wire

import (
	"encoding/json"
	"strings"
)

// Reasoning returns the reasoning that people can read in a Response.Message, in any format, and "" if there is
// none. It is untrusted, as all text of a model. Some providers send their reasoning encrypted, and some none of it.
func Reasoning(message json.RawMessage) string {
	var items []reasoningPart
	if json.Unmarshal(message, &items) != nil { // only the format responses has a list of items
		var one reasoningPart
		if json.Unmarshal(message, &one) != nil {
			return ""
		}
		items = []reasoningPart{one}
	}
	var texts []string
	add := func(text string) {
		if strings.TrimSpace(text) != "" {
			texts = append(texts, text)
		}
	}
	for _, item := range items {
		add(item.ReasoningContent)
		add(item.Thinking)
		if item.Type == "reasoning" {
			for _, part := range item.Summary {
				add(part.Text)
			}
		}
		var content []reasoningPart
		if json.Unmarshal(item.Content, &content) == nil { // otherwise it is a text, which is no reasoning
			for _, part := range content {
				add(part.Thinking)
				if item.Type == "reasoning" {
					add(part.Text)
				}
			}
		}
		for _, part := range item.Parts {
			if part.Thought {
				add(part.Text)
			}
		}
	}
	return strings.Join(texts, "\n")
}

// reasoningPart has the members of messages, items and parts in which the formats have reasoning:
// reasoning_content of openai, thinking of ollama and of the blocks of anthropic, summary and content of the items of
// responses, and the parts of gemini.
type reasoningPart struct {
	Type             string          `json:"type"`
	Text             string          `json:"text"`
	Thinking         string          `json:"thinking"`
	Thought          bool            `json:"thought"`
	ReasoningContent string          `json:"reasoning_content"`
	Content          json.RawMessage `json:"content"`
	Summary          []reasoningPart `json:"summary"`
	Parts            []reasoningPart `json:"parts"`
}
