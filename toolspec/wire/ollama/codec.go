package ollama

import (
	"encoding/json"
	"errors"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// Format is the name of the format.
const Format = "ollama"

// Codec is the format. Its zero value is ready.
type Codec struct{}

var _ wire.Codec = Codec{}

// Format returns "ollama".
func (Codec) Format() string { return Format }

// Tools returns objects {"type":"function","function":{"name","description","parameters"}}. The format
// has no strict form.
func (Codec) Tools(tools []wire.Tool) (json.RawMessage, error) {
	return frame.Tools(tools, `{"type":"function","function":{"name":`, "parameters", func(wire.Tool) string { return `}}` })
}

var (
	errNone  = errors.New("ollama: the format cannot say that no tool is to be called: send no tools")
	errForce = errors.New("ollama: the format cannot make a model call a tool: the choice can only be auto")
)

// Choice returns no members, because the model always decides itself in this format. It returns an error
// for every other mode.
func (Codec) Choice(choice wire.Choice) ([]wire.Member, error) {
	if err := choice.Check(); err != nil {
		return nil, err
	}
	switch choice.Mode {
	case wire.None:
		return nil, errNone
	case wire.Required, wire.Named:
		return nil, errForce
	default:
		return nil, nil
	}
}

// Answers returns messages of the role tool, with the tool's name and the id of the call if the call had
// an id. The format has no member for an error or a reference, so the text contains them: see
// [wire.Answer.Text]. Images are in a member beside the text. A line of the text describes every other
// part.
func (Codec) Answers(answers []wire.Answer) ([]json.RawMessage, error) {
	messages := make([]json.RawMessage, 0, len(answers))
	for _, a := range answers {
		text, err := a.Text(false)
		if err != nil {
			return nil, err
		}
		var images []byte
		for _, p := range a.Parts {
			if isImage(p.MediaType) {
				images = frame.Quote(append(images, ','), p.Data)
				continue
			}
			text += "\n\n" + p.Words()
		}
		m := frame.Quote([]byte(`{"role":"tool","content":`), text)
		if len(images) > 0 {
			m = append(append(append(m, `,"images":[`...), images[1:]...), ']')
		}
		m = frame.Quote(append(m, `,"tool_name":`...), a.Name)
		if a.CallID != "" {
			m = frame.Quote(append(m, `,"tool_call_id":`...), a.CallID)
		}
		messages = append(messages, append(m, '}'))
	}
	return messages, nil
}

func isImage(mediaType string) bool {
	switch mediaType {
	case "image/jpeg", "image/png", "image/webp":
		return true
	default:
		return false
	}
}
