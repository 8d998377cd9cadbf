package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// Answers returns one message of the user with all tool_result blocks, because the format requires the
// results of a turn in one message. Texts, images and PDF documents become blocks. A text describes
// every other part. The text of an answer contains the reference to the stored value: see
// [wire.Answer.Text].
func (Codec) Answers(answers []wire.Answer) ([]json.RawMessage, error) {
	if len(answers) == 0 {
		return nil, nil
	}
	m := []byte(`{"role":"user","content":[`)
	for i, a := range answers {
		if i > 0 {
			m = append(m, ',')
		}
		text, err := a.Text(true)
		if err != nil {
			return nil, err
		}
		m = frame.Quote(append(m, `{"type":"tool_result","tool_use_id":`...), frame.CallID(a.CallID, a.Index))
		m = append(m, `,"content":[`...)
		m = appendBlocks(m, text, a)
		m = append(m, ']')
		if a.IsError {
			m = append(m, `,"is_error":true`...)
		}
		m = append(m, '}')
	}
	return []json.RawMessage{append(m, `]}`...)}, nil
}

// appendBlocks appends the text and the parts of an answer as blocks. It omits empty texts, because the
// format refuses them.
func appendBlocks(dst []byte, text string, a wire.Answer) []byte {
	start := len(dst)
	dst = appendText(dst, text, start)
	for _, p := range a.Parts {
		switch {
		case isImage(p.MediaType):
			dst = appendSource(dst, "image", p, start)
		case p.MediaType == "application/pdf":
			dst = appendSource(dst, "document", p, start)
		default:
			dst = appendText(dst, p.Words(), start)
		}
	}
	return dst
}

// appendText appends a text block to the list that begins at start. It appends nothing for a text of
// only white space, because the format treats such a text as empty.
func appendText(dst []byte, text string, start int) []byte {
	if strings.TrimSpace(text) == "" {
		return dst
	}
	if len(dst) > start {
		dst = append(dst, ',')
	}
	return append(frame.Quote(append(dst, `{"type":"text","text":`...), text), '}')
}

func appendSource(dst []byte, kind string, p wire.Part, start int) []byte {
	if len(dst) > start {
		dst = append(dst, ',')
	}
	dst = append(append(append(dst, `{"type":"`...), kind...), `","source":{"type":"base64","media_type":`...)
	dst = frame.Quote(dst, p.MediaType)
	dst = append(frame.Quote(append(dst, `,"data":`...), p.Data), '}')
	if kind == "document" && p.Name != "" {
		dst = frame.Quote(append(dst, `,"title":`...), p.Name)
	}
	return append(dst, '}')
}

func isImage(mediaType string) bool {
	switch mediaType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return true
	default:
		return false
	}
}
