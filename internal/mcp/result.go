package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"strings"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/sanitize"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// maxFailure bounds the text of a server's error, in bytes.
const maxFailure = 500

// ellipsis ends a text that was cut.
const ellipsis = "…"

// value returns the value of a result of the server.
func (t target) value(r *sdk.CallToolResult) (json.RawMessage, error) {
	switch {
	case r == nil:
		return nil, &toolspec.OutputError{}
	case r.NeedsInput():
		return nil, errAsksPerson
	case r.IsError:
		return nil, t.failure("the tool of the MCP server failed", texts(r.Content)...)
	case t.structured:
		return structured(r)
	}
	parts, err := partsOf(r.Content)
	if err != nil {
		return nil, &toolspec.OutputError{}
	}
	return json.Marshal(parts)
}

// structured returns the structured content of a result. The SDK reads its numbers as float64. If the server
// also sends the same value as a text, as the protocol recommends, the text has the exact numbers.
func structured(r *sdk.CallToolResult) (json.RawMessage, error) {
	if r.StructuredContent == nil {
		return nil, &toolspec.OutputError{}
	}
	value, err := json.Marshal(r.StructuredContent)
	if err != nil {
		return nil, &toolspec.OutputError{}
	}
	canonical, err := strictjson.Canonical(value)
	if err != nil {
		return nil, &toolspec.OutputError{}
	}
	for _, text := range texts(r.Content) {
		if same, err := strictjson.Canonical([]byte(text)); err == nil && bytes.Equal(same, canonical) {
			return json.RawMessage(text), nil
		}
	}
	return value, nil
}

// texts returns the texts of a result.
func texts(content []sdk.Content) (texts []string) {
	for _, c := range content {
		if text, ok := c.(*sdk.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return texts
}

// failure returns the error of a tool that has answered. It has the text of the server only as far as the
// allowlist of the review shows texts of a result, bounded and sanitized.
func (t target) failure(what string, texts ...string) error {
	text := t.shown(texts)
	if text == "" {
		return toolspec.Safef("%s", what)
	}
	return toolspec.Safef("%s: %s", what, text)
}

func (t target) shown(texts []string) string {
	parts := make(toolspec.Parts, 0, toolspec.MaxParts)
	for _, text := range texts[:min(len(texts), toolspec.MaxParts)] {
		parts = append(parts, toolspec.Part{Type: toolspec.PartText, Text: cutText(text, 2*maxFailure)})
	}
	value, err := json.Marshal(parts)
	if err != nil {
		return ""
	}
	var kept []struct {
		Text string `json:"text"`
	}
	if value, err = (toolspec.Redaction{Allow: t.allow}).Output(value); err != nil || json.Unmarshal(value, &kept) != nil {
		return ""
	}
	var all []string
	for _, part := range kept {
		all = append(all, part.Text)
	}
	text, _ := sanitize.Text(strings.TrimSpace(strings.Join(all, "\n")))
	if text = cutText(text, maxFailure); toolspec.SecretValue(text) {
		return ""
	}
	return text
}

// cutText returns a text with at most limit bytes. It cuts a longer text at a white space, because a cut within a
// credential would leave the beginning of the credential, which no later search recognizes.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := strings.LastIndexFunc(text[:limit-len(ellipsis)+1], unicode.IsSpace)
	if end <= 0 {
		return ""
	}
	return text[:end] + ellipsis
}

// partsOf returns the content of a result as parts.
func partsOf(content []sdk.Content) (toolspec.Parts, error) {
	if len(content) > toolspec.MaxParts {
		return nil, fmt.Errorf("%d parts, of at most %d", len(content), toolspec.MaxParts)
	}
	parts := make(toolspec.Parts, 0, len(content))
	for _, c := range content {
		part, err := partOf(c)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, parts.Check()
}

func partOf(c sdk.Content) (toolspec.Part, error) {
	switch c := c.(type) {
	case *sdk.TextContent:
		return toolspec.Part{Type: toolspec.PartText, Text: c.Text}, nil
	case *sdk.ImageContent:
		return toolspec.Part{Type: toolspec.PartImage, MediaType: c.MIMEType, Data: c.Data}, nil
	case *sdk.AudioContent:
		return toolspec.Part{Type: toolspec.PartAudio, MediaType: c.MIMEType, Data: c.Data}, nil
	case *sdk.ResourceLink:
		name := c.Title
		if name == "" {
			name = c.Name
		}
		return toolspec.Part{Type: toolspec.PartResourceLink, URI: c.URI, Name: name, MediaType: mediaType(c.MIMEType, "")}, nil
	case *sdk.EmbeddedResource:
		if c.Resource != nil {
			return resource(c.Resource), nil
		}
	}
	return toolspec.Part{}, fmt.Errorf("a part of the type %T", c)
}

// resource returns an embedded resource: its text, or its bytes as an image, audio or a document.
func resource(r *sdk.ResourceContents) toolspec.Part {
	if len(r.Blob) == 0 {
		return toolspec.Part{Type: toolspec.PartText, Text: r.Text, Name: r.URI}
	}
	p := toolspec.Part{Type: toolspec.PartDocument, MediaType: mediaType(r.MIMEType, "application/octet-stream"), Data: r.Blob, Name: r.URI}
	switch {
	case strings.HasPrefix(p.MediaType, "image/"):
		p.Type = toolspec.PartImage
	case strings.HasPrefix(p.MediaType, "audio/"):
		p.Type = toolspec.PartAudio
	}
	return p
}

// mediaType returns a media type, or otherwise if it is none.
func mediaType(name, otherwise string) string {
	if _, _, err := mime.ParseMediaType(name); err != nil {
		return otherwise
	}
	return name
}
