package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// Answer is the result of one call on its way to the model.
type Answer struct {
	// Index, CallID and Name are those of the Call, as the provider gave them. For a call without an
	// id the codec leaves the id out, or, if the format requires one, writes the id that it wrote into
	// Response.Message for the same Index.
	Index        int
	CallID, Name string
	// Content is the value, or for a failure what the model may know of it: JSON.
	// A codec of a format that takes text writes a JSON string as its text and
	// anything else as JSON. A codec writes toolspec.ErrorPrefix before the content
	// of a failure.
	Content json.RawMessage
	IsError bool
	// Parts follow the content, such as images. If a format cannot carry a part, a text says so in the place
	// of the part. A format may drop the name of a part that it carries.
	Parts []Part
	// OutputRef names the stored value if Content is only a part of it (WF-16).
	OutputRef string
	// Sanitized names what was changed in Content so that it cannot pose as something else to
	// the model: ansi_escapes, bidi_characters, control_characters, invisible_characters,
	// role_markers. The stored value is unchanged (RD-07). The content of a failure also
	// has the names of its changes.
	Sanitized []string
}

// Text returns the answer for a format that takes text. The text is Content: a JSON string as its text, any other value
// as JSON. The text of a failure begins with toolspec.ErrorPrefix (ER-18). The error says that Content is not JSON.
//
// Text puts the text into a frame if the answer has OutputRef or Sanitized. The frame is a JSON object:
// {"content":…,"is_error":true,"sanitized":[…],"output_ref":…} (WF-16). flagged says that the format has a flag for
// errors: the frame then has no is_error. Two other answers also get a frame, because a model could mistake their
// values: a value that looks like a frame, and, if flagged is false, a value that begins with toolspec.ErrorPrefix.
func (a Answer) Text(flagged bool) (string, error) {
	text, err := a.text()
	if err != nil {
		return "", err
	}
	if a.OutputRef == "" && len(a.Sanitized) == 0 && (a.IsError || !looksFramed(text)) && (flagged || a.IsError || !strings.HasPrefix(text, toolspec.ErrorPrefix)) {
		return text, nil
	}
	content := a.content()
	if a.IsError {
		if content, err = encode(text); err != nil {
			return "", err
		}
	}
	framed, err := encode(struct {
		Content   json.RawMessage `json:"content"`
		IsError   bool            `json:"is_error,omitempty"`
		Sanitized []string        `json:"sanitized,omitempty"`
		OutputRef string          `json:"output_ref,omitempty"`
	}{content, a.IsError && !flagged, a.Sanitized, a.OutputRef})
	return string(framed), err
}

// LooksFramed reports whether the content is a value that could be taken for the frame of Text in a
// format that takes JSON.
func (a Answer) LooksFramed() bool { return !a.IsError && looksFramed(string(a.content())) }

// looksFramed reports whether a text could be taken for the frame of Text. It is a value, or a text
// that a tool returned.
func looksFramed(text string) bool {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") || !strings.Contains(text, `"content"`) {
		return false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &members) != nil || members["content"] == nil {
		return false
	}
	delete(members, "content")
	for name := range members {
		if name != "is_error" && name != "sanitized" && name != "output_ref" && name != "parts" {
			return false
		}
	}
	return len(members) > 0
}

// Value is the content for a format that takes JSON: Content, or for a failure its
// text, which begins with toolspec.ErrorPrefix, as a JSON string.
func (a Answer) Value() (json.RawMessage, error) {
	text, err := a.text()
	if err != nil || !a.IsError {
		return a.content(), err
	}
	return encode(text)
}

// text returns the content as text, and the content of a failure behind
// toolspec.ErrorPrefix. It returns an error if the content is not JSON.
func (a Answer) text() (string, error) {
	content := a.content()
	text := string(content)
	if !json.Valid(content) {
		return "", fmt.Errorf("the content of the answer to %s is not JSON", a.Name)
	}
	if content[0] == '"' {
		if err := json.Unmarshal(content, &text); err != nil {
			return "", fmt.Errorf("the content of the answer to %s is not JSON", a.Name)
		}
	}
	if a.IsError && !strings.HasPrefix(text, toolspec.ErrorPrefix) {
		text = toolspec.ErrorPrefix + text
	}
	return text, nil
}

func (a Answer) content() json.RawMessage {
	if content := bytes.TrimSpace(a.Content); len(content) > 0 {
		return content
	}
	return json.RawMessage("null")
}

// encode returns the JSON of v. It does not escape <, > and &, because models read it.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// Part is a piece of a result that is not JSON.
type Part struct {
	// MediaType is a media type without parameters such as image/png, and text/plain for text.
	MediaType string
	// Data is base64 (RFC 4648, padded), or the text itself for text/*.
	Data string
	// Name is for the model: a file name, a title. It may be empty.
	Name string
}

// Words returns the part for a format that takes only text: its text, or a note that the part
// cannot be shown.
func (p Part) Words() string {
	if strings.HasPrefix(p.MediaType, "text/") {
		return p.Data
	}
	name := ""
	if p.Name != "" {
		name = strconv.Quote(p.Name) + ", "
	}
	bytes := base64.StdEncoding.DecodedLen(len(p.Data)) - strings.Count(p.Data[max(len(p.Data)-2, 0):], "=")
	return fmt.Sprintf("[%sa part of type %s, %d bytes, which cannot be shown here]", name, p.MediaType, bytes)
}
