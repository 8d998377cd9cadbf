package gemini

import (
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// Answers are the functionResponse parts of one single content of the user. The
// response is {"output":…} with the value as it is, or {"error":"…"} with the text of
// a failure, see [wire.Answer.Value]. Images and PDF documents become parts of the functionResponse. If there
// is a reference to the stored value, a sanitized text, or a part that must be text, the value is
// {"content":…,"parts":["…"],"sanitized":["…"],"output_ref":"…"}: the format has no other place
// for them inside a response.
func (Codec) Answers(answers []wire.Answer) ([]json.RawMessage, error) {
	if len(answers) == 0 {
		return nil, nil
	}
	m := []byte(`{"role":"user","parts":[`)
	for i, a := range answers {
		if i > 0 {
			m = append(m, ',')
		}
		m = append(m, `{"functionResponse":{`...)
		if a.CallID != "" {
			m = append(frame.Quote(append(m, `"id":`...), a.CallID), ',')
		}
		m = frame.Quote(append(m, `"name":`...), a.Name)
		outcome := `,"response":{"output":`
		if a.IsError {
			outcome = `,"response":{"error":`
		}
		m = append(m, outcome...)
		var err error
		if m, err = appendValue(m, a); err != nil {
			return nil, err
		}
		m = append(appendMedia(append(m, '}'), a.Parts), `}}`...)
	}
	return []json.RawMessage{append(m, `]}`...)}, nil
}

// appendValue appends the value of an answer. If the answer has more than a value, such as a reference,
// appendValue writes an object with the value and the rest.
func appendValue(dst []byte, a wire.Answer) ([]byte, error) {
	content, err := a.Value()
	if err != nil {
		return nil, fmt.Errorf("gemini: %w", err)
	}
	if _, err := frame.Parse(content); err != nil {
		return nil, fmt.Errorf("gemini: the content of the answer to %s is %w", a.Name, err)
	}
	var texts []string
	for _, p := range a.Parts {
		if !isMedia(p.MediaType) {
			texts = append(texts, p.Words())
		}
	}
	if len(texts) == 0 && a.OutputRef == "" && len(a.Sanitized) == 0 && !a.LooksFramed() {
		return append(dst, content...), nil
	}
	dst = append(append(dst, `{"content":`...), content...)
	dst = appendTexts(appendTexts(dst, "parts", texts), "sanitized", a.Sanitized)
	if a.OutputRef != "" {
		dst = frame.Quote(append(dst, `,"output_ref":`...), a.OutputRef)
	}
	return append(dst, '}'), nil
}

// appendTexts appends a member with a list of texts, if there are any.
func appendTexts(dst []byte, name string, texts []string) []byte {
	if len(texts) == 0 {
		return dst
	}
	dst = append(append(append(dst, `,"`...), name...), `":[`...)
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = frame.Quote(dst, text)
	}
	return append(dst, ']')
}

// appendMedia appends the member parts with the images and PDF documents, if there are any.
func appendMedia(dst []byte, parts []wire.Part) []byte {
	begun := false
	for _, p := range parts {
		if !isMedia(p.MediaType) {
			continue
		}
		if begun {
			dst = append(dst, ',')
		} else {
			begun = true
			dst = append(dst, `,"parts":[`...)
		}
		dst = frame.Quote(append(dst, `{"inlineData":{"mimeType":`...), p.MediaType)
		dst = append(frame.Quote(append(dst, `,"data":`...), p.Data), `}}`...)
	}
	if begun {
		dst = append(dst, ']')
	}
	return dst
}

func isMedia(mediaType string) bool {
	switch mediaType {
	case "image/jpeg", "image/png", "image/webp", "application/pdf":
		return true
	default:
		return false
	}
}
