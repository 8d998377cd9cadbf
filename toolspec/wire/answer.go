package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Answer is the result of one call on its way to the model.
type Answer struct {
	// Index, CallID and Name are those of the Call, as the provider gave them. For
	// a call without an id the codec leaves it out, or writes what the format
	// demands: the same that it wrote for that Index into Response.Message.
	Index        int
	CallID, Name string
	// Content is the value, or for a failure what the model may know of it: JSON.
	// A codec of a format that takes text writes a JSON string as its text and
	// anything else as JSON.
	Content json.RawMessage
	IsError bool
	// Parts follow the content, such as images; a format that cannot carry one of
	// them says so in text instead, and drops nothing silently.
	Parts []Part
	// OutputRef names the stored value where Content is only a part of it (WF-16).
	OutputRef string
}

// Text is the answer for a format that takes text: Content, a JSON string as its
// text and anything else as JSON. What the format has no member for stands around
// it as the JSON of a tool message, {"content":…,"is_error":true,"output_ref":…}:
// is_error unless the format has a flag of its own (flagged), output_ref wherever
// there is one (WF-16). An answer with neither has no frame.
func (a Answer) Text(flagged bool) (string, error) {
	content := json.RawMessage(bytes.TrimSpace(a.Content))
	if len(content) == 0 {
		content = json.RawMessage("null")
	}
	if a.OutputRef == "" && (flagged || !a.IsError) {
		var text string
		if content[0] == '"' && json.Unmarshal(content, &text) == nil {
			return text, nil
		}
		if !json.Valid(content) {
			return "", fmt.Errorf("the content of the answer to %s is not JSON", a.Name)
		}
		return string(content), nil
	}
	var framed bytes.Buffer
	enc := json.NewEncoder(&framed)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Content   json.RawMessage `json:"content"`
		IsError   bool            `json:"is_error,omitempty"`
		OutputRef string          `json:"output_ref,omitempty"`
	}{content, a.IsError && !flagged, a.OutputRef})
	if err != nil {
		return "", fmt.Errorf("the content of the answer to %s is not JSON", a.Name)
	}
	return string(bytes.TrimSpace(framed.Bytes())), nil
}

// Part is a piece of a result that is no JSON.
type Part struct {
	// MediaType is such as image/png; text/plain for text.
	MediaType string
	// Data is base64 (RFC 4648, padded), or the text itself for text/*.
	Data string
}

// Words is the part for a format that takes text alone: its text, or in words
// that there was something else.
func (p Part) Words() string {
	if strings.HasPrefix(p.MediaType, "text/") {
		return p.Data
	}
	return fmt.Sprintf("[a part of type %s, %d characters of base64, which cannot be shown here]", p.MediaType, len(p.Data))
}
