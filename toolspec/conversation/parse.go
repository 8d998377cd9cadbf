package conversation

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Parse parses a conversation strictly and checks it: one JSON object without repeated keys,
// unknown fields or infinite numbers, and every rule of Check. An error is an *Error.
func Parse(data []byte) (Conversation, error) {
	var c Conversation
	var found problems
	if len(data) > MaxConversation {
		found.add("", KindTooLarge, "the conversation is larger than %d bytes", MaxConversation)
		return c, found.err()
	}
	if fault := strictjson.Check(data); fault != nil {
		found.unread("", fault)
		return c, found.err()
	}
	var doc struct {
		Messages []struct {
			Role    Role           `json:"role"`
			Content jsontext.Value `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(data, &doc, json.RejectUnknownMembers(true)); err != nil {
		found.decoding("", err)
		return c, found.err()
	}
	c.Messages = make([]Message, len(doc.Messages))
	for i, m := range doc.Messages {
		c.Messages[i] = Message{Role: m.Role, Content: found.content(fmt.Sprintf(pathOfMessage, i)+"/content", m.Content)}
	}
	if err := found.err(); err != nil {
		return Conversation{}, err
	}
	if err := c.Check(); err != nil {
		return Conversation{}, err
	}
	return c, nil
}

// content parses a string, or an array of parts.
func (p *problems) content(path string, raw jsontext.Value) []Part {
	switch raw.Kind() {
	case '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			p.decoding(path, err)
		}
		return []Part{{Type: Text, Text: text}}
	case '[':
		var items []jsontext.Value
		if err := json.Unmarshal(raw, &items); err != nil {
			p.decoding(path, err)
		}
		parts := make([]Part, len(items))
		for i, item := range items {
			parts[i] = p.part(fmt.Sprintf("%s/%d", path, i), item)
		}
		return parts
	case 0:
		p.add(path, KindMissing, "a message has content")
	default:
		p.add(path, string(jsonschema.KindTypeMismatch), "the content is a text or an array of parts")
	}
	return nil
}

// part parses a part. It refuses fields that its type does not have.
func (p *problems) part(path string, raw jsontext.Value) (part Part) {
	var head struct {
		Type PartType `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		p.decoding(path, err)
		return part
	}
	part.Type = head.Type
	var err error
	switch head.Type {
	case Text:
		var v struct {
			Type PartType `json:"type"`
			Text *string  `json:"text"`
		}
		if err = json.Unmarshal(raw, &v, json.RejectUnknownMembers(true)); err == nil {
			if v.Text == nil {
				p.add(path+"/text", KindMissing, "a text has text")
				return part
			}
			part.Text = *v.Text
		}
	case ToolCall:
		var v struct {
			Type       PartType       `json:"type"`
			ToolCallID string         `json:"toolCallId"`
			ToolName   string         `json:"toolName"`
			Args       jsontext.Value `json:"args"`
		}
		if err = json.Unmarshal(raw, &v, json.RejectUnknownMembers(true)); err == nil {
			part.ToolCallID, part.ToolName, part.Args = v.ToolCallID, v.ToolName, []byte(v.Args)
		}
	case ToolResult:
		var v struct {
			Type       PartType       `json:"type"`
			ToolCallID string         `json:"toolCallId"`
			ToolName   string         `json:"toolName"`
			Result     jsontext.Value `json:"result"`
			IsError    bool           `json:"isError"`
			OutputRef  string         `json:"outputRef"`
		}
		if err = json.Unmarshal(raw, &v, json.RejectUnknownMembers(true)); err == nil {
			part.ToolCallID, part.ToolName, part.Result = v.ToolCallID, v.ToolName, []byte(v.Result)
			part.IsError, part.OutputRef = v.IsError, v.OutputRef
		}
	default:
		// Check reports an unknown type, with the role.
	}
	if err != nil {
		p.decoding(path, err)
	}
	return part
}

// decoding adds a problem for a value that does not decode, without the value.
func (p *problems) decoding(at string, err error) {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		p.add(at, string(jsonschema.KindInvalidJSON), "Invalid JSON")
		return
	}
	path := at + hydrate.Clip(string(semantic.JSONPointer))
	if errors.Is(err, json.ErrUnknownName) {
		p.add(path, KindUnknownField, "the field is not known here")
		return
	}
	p.add(path, string(jsonschema.KindTypeMismatch), "the field has the wrong type")
}
